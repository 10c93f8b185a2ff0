// Crashes and driver faults during a move: shims, replicas and originals are killed at every stage,
// and every call of the driver fails once. Afterwards the job must run in exactly one slot. Also
// the drain of connections with endpoint mode "tcp".
#include <csignal>
#include <fstream>
#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "move_load.hpp"
#include "service_node.hpp"
#include "store/store.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

void expect_one_slot(ServiceNode& service) {
  service.await_no_move();
  eventually("the service answers", [&] { return service.get("/whoami").first == 200; });
  EXPECT_EQ(service.node.state(service.job), "running") << service.node.log();
  eventually("one run is left", [&] { return service.node.shims().size() == 1; });
  const auto held = [&] {
    std::size_t count = 0;
    const json::value gpus = service.node.call("GET", "/v1/gpus");
    for (const json::value& gpu : gpus.as_array()) {
      for (const json::value& each : gpu.at("instances").as_array()) {
        if (each.at("state") == "held") ++count;
      }
    }
    return count;
  };
  eventually("one instance is held", [&] { return held() == 1; });
}

std::string last_result(ServiceNode& service) {
  const json::value result =
      service.node.job(service.job).at("places").as_array().back().at("result");
  return result.is_string() ? std::string(result.get_string()) : "";
}

// Whether the endpoint reported that the original is drained before the shim reported its exit.
bool drained_before_exit(ServiceNode& service) {
  const auto store =
      store::Store::open(service.node.state_dir() + "/tangram.db", {.read_only = true});
  CHECK(store.has_value());
  const auto steps = (*store)->steps(1, 100'000);
  CHECK(steps.has_value());
  for (const store::Step& step : *steps) {
    if (std::holds_alternative<core::TrafficDrained>(step.event)) return true;
    if (std::holds_alternative<core::JobExited>(step.event)) return false;
  }
  ADD_FAILURE() << "neither was reported";
  return false;
}

// A move whose original is draining: two clients read long streams from it.
struct DrainingMove {
  DrainingMove()
      : service({}, {{"endpoint", {{"drain", "20s"}}}}),
        original(service.node.job(service.job).at("pid").to_number<pid_t>()),
        load({.port = service.port(),
              .keep_alive_clients = 0,
              .one_shot_clients = 0,
              .stream_clients = 2,
              .shortest_stream = std::chrono::milliseconds(10'000),
              .longest_stream = std::chrono::milliseconds(10'000)}) {
    eventually("both streams are open", [&] { return load.open_streams == 2; });
    service.request_move(1, 2);
    eventually("traffic is switched", [&] {
      return service.node.tangram({"events", "--kind", "move"}).find("by its replica") !=
             std::string::npos;
    });
  }
  ServiceNode service;
  pid_t original;
  MoveLoad load;
};

TEST(MoveCrash, OfAReplicaWhileTheOriginalDrainsRoutesTrafficBack) {
  DrainingMove draining;
  ServiceNode& service = draining.service;
  for (const pid_t pid : service.node.run_processes()) {
    if (pid != draining.original) ::kill(pid, SIGKILL);
  }
  service.await_no_move();
  EXPECT_EQ(service.slot().first, 0) << service.node.log();
  EXPECT_EQ(service.node.job(service.job).at("pid"), draining.original);
  EXPECT_EQ(last_result(service), "rolled-back");
  expect_one_slot(service);
}

TEST(MoveCrash, OfAnOriginalWhileItDrainsIsFollowedByTheReplica) {
  DrainingMove draining;
  ServiceNode& service = draining.service;
  ::kill(draining.original, SIGKILL);
  service.await_no_move();
  EXPECT_EQ(service.slot(), std::pair(1, 2)) << service.node.log();
  EXPECT_EQ(last_result(service), drained_before_exit(service) ? "done" : "taken-over");
  expect_one_slot(service);
}

TEST(MoveCrash, OfTheOriginalsShimIsFollowedByTheReplica) {
  ServiceNode service({}, {}, 700);
  const auto shims = service.node.shims();
  ASSERT_EQ(shims.size(), 1U);
  service.request_move(1, 0);
  eventually("its replica runs", [&] { return service.node.run_processes().size() >= 2; });
  ::kill(shims[0], SIGKILL);
  service.await_no_move();
  EXPECT_EQ(service.slot(), std::pair(1, 0)) << service.node.log();
  expect_one_slot(service);
}

// With mode tcp whole connections drain: those that do not end in time are cut and counted.
TEST(TcpEndpoint, ConnectionsThatEndWithinTheDrainAreNotCut) {
  ServiceNode service({}, {{"endpoint", {{"mode", "tcp"}}}});
  MoveLoad load({.port = service.port(),
                 .keep_alive_clients = 0,
                 .one_shot_clients = 2,
                 .requests_per_second = 40,
                 .stream_clients = 4,
                 .shortest_stream = std::chrono::milliseconds(500),
                 .longest_stream = std::chrono::milliseconds(1'500)});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(service.move(1 - i % 2, i)) << service.node.log();
  load.stop();
  EXPECT_EQ(load.failures(), 0U) << ::testing::PrintToString(load.failure_messages());
  EXPECT_GT(load.streams, 4U);
  const json::array places = service.node.job(service.job).at("places").as_array();
  for (const json::value& place : places) EXPECT_EQ(place.at("cut"), 0);
}

TEST(TcpEndpoint, ConnectionsThatOutlastTheDrainAreCutAndCounted) {
  ServiceNode service({}, {{"endpoint", {{"mode", "tcp"}, {"drain", "300ms"}}}});
  MoveLoad load({.port = service.port(),
                 .keep_alive_clients = 0,
                 .one_shot_clients = 0,
                 .stream_clients = 3,
                 .shortest_stream = std::chrono::milliseconds(60'000),
                 .longest_stream = std::chrono::milliseconds(60'000)});
  eventually("all streams are open", [&] { return load.open_streams == 3; });
  ASSERT_TRUE(service.move(1, 3)) << service.node.log();
  eventually("the streams were cut", [&] { return load.failures() >= 3; });
  EXPECT_EQ(service.node.job(service.job).at("places").as_array().back().at("cut"), 3);
  service.node.call("POST", cat("/v1/jobs/", service.job, "/cancel"), 0);
  service.node.await(service.job, "over");
}

// Every NVML function that the daemon uses.
std::set<std::string> functions() {
  std::ifstream in(TANGRAM_SOURCE_DIR "/src/nvml/functions.hpp");
  std::stringstream text;
  text << in.rdbuf();
  const std::string all = text.str();
  const std::regex name(R"(\b(nvml[A-Z]\w+)\()");
  std::set<std::string> names;
  for (std::sregex_iterator at(all.begin(), all.end(), name), end; at != end; ++at) {
    names.insert((*at)[1]);
  }
  return names;
}

// Moves the job while a fault is set. False: the emulator has no such fault.
bool move_under(ServiceNode& service, const std::string& fault) {
  int code = -1;
  service.node.tangram({"emulate", "fault", "call", fault, "--times", "1"}, &code);
  if (code != 0) return false;
  const auto [gpu, start] = service.slot();
  const json::object to{{"to", {{"gpu", 1 - gpu}, {"start", (start + 1) % 6}}}};
  service.node.call("POST", cat("/v1/jobs/", service.job, "/move"), 0, to);  // may be refused
  expect_one_slot(service);
  service.node.tangram({"emulate", "fault", "clear"});
  return true;
}

TEST(DriverFaults, OfEveryCallLeaveOneSlot) {
  const auto names = functions();
  ASSERT_GT(names.size(), 40U);
  ServiceNode service;
  std::set<std::string> without_fault;
  for (const std::string& name : names) {
    if (!move_under(service, name + "=UNKNOWN")) without_fault.insert(name);
    if (HasFailure()) FAIL() << name << "\n" << service.node.log();
  }
  // Start and end of the library, and the texts of errors.
  EXPECT_EQ(without_fault,
            (std::set<std::string>{"nvmlErrorString", "nvmlInit_v2", "nvmlShutdown"}));
}

TEST(DriverFaults, HangingChangesLeaveOneSlot) {
  ServiceNode service({.config = "[device]\nchange_time = \"500ms\"\n"});
  for (const char* name :
       {"nvmlDeviceCreateGpuInstanceWithPlacement", "nvmlGpuInstanceCreateComputeInstance",
        "nvmlComputeInstanceDestroy", "nvmlGpuInstanceDestroy"}) {
    // The idle instance of the previous move overlaps the target: it is destroyed first.
    ASSERT_TRUE(move_under(service, cat(name, "=hang:1500"))) << name;
    if (HasFailure()) FAIL() << name << "\n" << service.node.log();
  }
}

}  // namespace
}  // namespace tangram::tests
