// Whoever takes part in a move and dies or hangs in the middle of it: the original's shim, changes
// of the driver. One rule: at the end the job is served from exactly one place.
#include <csignal>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "served.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;

void expect_one_place(Served& served) {
  served.await_rest();
  eventually("it is reached", [&] { return served.get("/whoami").first == 200; });
  EXPECT_EQ(served.node.state(served.job), "running") << served.node.log();
  eventually("one run is left", [&] { return served.node.shims().size() == 1; });
  const auto held = [&] {
    std::size_t count = 0;
    const json::value gpus = served.node.ask("GET", "/v1/gpus");
    for (const json::value& gpu : gpus.as_array()) {
      for (const json::value& each : gpu.at("instances").as_array()) {
        if (each.at("state") == "held") ++count;
      }
    }
    return count;
  };
  eventually("one instance is held", [&] { return held() == 1; });
}

TEST(Deaths, OfTheOriginalsShimIsFollowedByTheReplica) {
  Served served({}, {}, 700);
  const auto shims = served.node.shims();
  ASSERT_EQ(shims.size(), 1U);
  served.ask_move(1, 0);
  eventually("its replica is there", [&] { return served.node.run_processes().size() >= 2; });
  ::kill(shims[0], SIGKILL);
  served.await_rest();
  EXPECT_EQ(served.place(), std::pair(1, 0)) << served.node.log();
  expect_one_place(served);
}

void move_under(Served& served, const std::string& fault) {
  int code = -1;
  served.node.tangram({"emulate", "fault", "call", fault, "--times", "1"}, &code);
  ASSERT_EQ(code, 0) << fault;
  const auto [gpu, start] = served.place();
  const json::object to{{"to", {{"gpu", 1 - gpu}, {"start", (start + 1) % 6}}}};
  served.node.ask("POST", cat("/v1/jobs/", served.job, "/move"), 0, to);  // or it is refused
  expect_one_place(served);
  served.node.tangram({"emulate", "fault", "clear"});
}

TEST(DriverFaults, ChangesThatHangLeaveOnePlace) {
  Served served({.config = "[device]\nchange_time = \"500ms\"\n"});
  for (const char* name :
       {"nvmlDeviceCreateGpuInstanceWithPlacement", "nvmlGpuInstanceCreateComputeInstance",
        "nvmlComputeInstanceDestroy", "nvmlGpuInstanceDestroy"}) {
    // What is idle lies in the way of the next: it is destroyed first.
    move_under(served, cat(name, "=hang:1500"));
    if (HasFailure()) FAIL() << name << "\n" << served.node.log();
  }
}

}  // namespace
}  // namespace tangram::tests
