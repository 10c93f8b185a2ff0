// Whoever takes part in a move and dies or fails in the middle of it: shims, replicas and originals
// at every stage, every call of the driver; and clients of a service that is relayed by connection.
// One rule: at the end the job is served from exactly one place.
#include <csignal>
#include <fstream>
#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "served.hpp"
#include "store/store.hpp"
#include "visitors.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

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

std::string last_result(Served& served) {
  const json::value result =
      served.node.job(served.job).at("places").as_array().back().at("result");
  return result.is_string() ? std::string(result.get_string()) : "";
}

// Who was heard first: the endpoint, that nothing is left at the original, or its shim, that it
// died.
bool drained_before_exit(Served& served) {
  const auto store =
      store::Store::open(served.node.state_dir() + "/tangram.db", {.read_only = true});
  CHECK(store.has_value());
  const auto steps = (*store)->steps(1, 100'000);
  CHECK(steps.has_value());
  for (const store::Step& step : *steps) {
    if (std::holds_alternative<core::TrafficDrained>(step.event)) return true;
    if (std::holds_alternative<core::JobExited>(step.event)) return false;
  }
  ADD_FAILURE() << "neither was heard";
  return false;
}

// Somebody listens for long, so that there is something to drain.
struct Draining {
  Draining()
      : served({}, {{"endpoint", {{"drain", "20s"}}}}),
        original(served.node.job(served.job).at("pid").to_number<pid_t>()),
        visitors({.port = served.port(),
                  .keeping = 0,
                  .passing = 0,
                  .listening = 2,
                  .shortest = std::chrono::milliseconds(10'000),
                  .longest = std::chrono::milliseconds(10'000)}) {
    eventually("they listen", [&] { return visitors.listening == 2; });
    served.ask_move(1, 2);
    eventually("traffic is switched", [&] {
      return served.node.tangram({"events", "--kind", "move"}).find("by its replica") !=
             std::string::npos;
    });
  }
  Served served;
  pid_t original;
  Visitors visitors;
};

TEST(Deaths, OfAReplicaWhileTheOriginalDrainsSendsTrafficBack) {
  Draining draining;
  Served& served = draining.served;
  for (const pid_t pid : served.node.run_processes()) {
    if (pid != draining.original) ::kill(pid, SIGKILL);
  }
  served.await_rest();
  EXPECT_EQ(served.place().first, 0) << served.node.log();
  EXPECT_EQ(served.node.job(served.job).at("pid"), draining.original);
  EXPECT_EQ(last_result(served), "rolled-back");
  expect_one_place(served);
}

TEST(Deaths, OfAnOriginalWhileItDrainsIsFollowedByTheReplica) {
  Draining draining;
  Served& served = draining.served;
  ::kill(draining.original, SIGKILL);
  served.await_rest();
  EXPECT_EQ(served.place(), std::pair(1, 2)) << served.node.log();
  EXPECT_EQ(last_result(served), drained_before_exit(served) ? "done" : "taken-over");
  expect_one_place(served);
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

// By connection: those that end in time are not noticed, the others are cut and counted.
TEST(ByConnection, WhatEndsWithinItsDrainIsNotCut) {
  Served served({}, {{"endpoint", {{"mode", "tcp"}}}});
  Visitors visitors({.port = served.port(),
                     .keeping = 0,
                     .passing = 2,
                     .requests_per_second = 40,
                     .listening = 4,
                     .shortest = std::chrono::milliseconds(500),
                     .longest = std::chrono::milliseconds(1'500)});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(served.move(1 - i % 2, i)) << served.node.log();
  visitors.stop();
  EXPECT_EQ(visitors.failures(), 0U) << ::testing::PrintToString(visitors.complaints());
  EXPECT_GT(visitors.streams, 4U);
  const json::array places = served.node.job(served.job).at("places").as_array();
  for (const json::value& place : places) EXPECT_EQ(place.at("cut"), 0);
}

TEST(ByConnection, WhatLastsLongerIsCutAndCounted) {
  Served served({}, {{"endpoint", {{"mode", "tcp"}, {"drain", "300ms"}}}});
  Visitors visitors({.port = served.port(),
                     .keeping = 0,
                     .passing = 0,
                     .listening = 3,
                     .shortest = std::chrono::milliseconds(60'000),
                     .longest = std::chrono::milliseconds(60'000)});
  eventually("all listen", [&] { return visitors.listening == 3; });
  ASSERT_TRUE(served.move(1, 3)) << served.node.log();
  eventually("they were cut", [&] { return visitors.failures() >= 3; });
  EXPECT_EQ(served.node.job(served.job).at("places").as_array().back().at("cut"), 3);
  served.node.ask("POST", cat("/v1/jobs/", served.job, "/cancel"), 0);
  served.node.await(served.job, "over");
}

// Every function of NVML that the daemon knows.
std::set<std::string> functions() {
  std::ifstream in(TANGRAM_SOURCE_DIR "/src/nvml/functions.hpp");
  std::stringstream text;
  text << in.rdbuf();
  const std::string all = text.str();
  const std::regex name("\\b(nvml[A-Z]\\w+)\\(");
  std::set<std::string> names;
  for (std::sregex_iterator at(all.begin(), all.end(), name), end; at != end; ++at) {
    names.insert((*at)[1]);
  }
  return names;
}

// False: the call cannot be made to fail.
bool move_under(Served& served, const std::string& fault) {
  int code = -1;
  served.node.tangram({"emulate", "fault", "call", fault, "--times", "1"}, &code);
  if (code != 0) return false;
  const auto [gpu, start] = served.place();
  const json::object to{{"to", {{"gpu", 1 - gpu}, {"start", (start + 1) % 6}}}};
  served.node.ask("POST", cat("/v1/jobs/", served.job, "/move"), 0, to);  // or it is refused
  expect_one_place(served);
  served.node.tangram({"emulate", "fault", "clear"});
  return true;
}

TEST(DriverFaults, OfEveryCallLeaveOnePlace) {
  const auto names = functions();
  ASSERT_GT(names.size(), 40U);
  Served served;
  std::set<std::string> spared;
  for (const std::string& name : names) {
    if (!move_under(served, name + "=UNKNOWN")) spared.insert(name);
    if (HasFailure()) FAIL() << name << "\n" << served.node.log();
  }
  // What begins and ends the library, and what gives a text.
  EXPECT_EQ(spared, (std::set<std::string>{"nvmlErrorString", "nvmlInit_v2", "nvmlShutdown"}));
}

TEST(DriverFaults, ChangesThatHangLeaveOnePlace) {
  Served served({.config = "[device]\nchange_time = \"500ms\"\n"});
  for (const char* name :
       {"nvmlDeviceCreateGpuInstanceWithPlacement", "nvmlGpuInstanceCreateComputeInstance",
        "nvmlComputeInstanceDestroy", "nvmlGpuInstanceDestroy"}) {
    // What is idle lies in the way of the next: it is destroyed first.
    ASSERT_TRUE(move_under(served, cat(name, "=hang:1500"))) << name;
    if (HasFailure()) FAIL() << name << "\n" << served.node.log();
  }
}

}  // namespace
}  // namespace tangram::tests
