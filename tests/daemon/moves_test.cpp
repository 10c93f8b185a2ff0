// Services are moved while they run, without a failed request, and whatever may crash or fail
// meanwhile. Afterwards the job runs in exactly one slot, nothing is left over, and the journal
// replays.
#include <csignal>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "move_load.hpp"
#include "service_node.hpp"
#include "store/replay.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

// Once no move is under way: the state of the node agrees with the daemon's records.
void expect_consistent(ServiceNode& service) {
  service.await_no_move();
  EXPECT_EQ(service.get("/whoami").first, 200);
  const json::object job = service.node.job(service.job);
  EXPECT_EQ(job.at("state"), "running");
  eventually("one run is left", [&] { return service.node.shims().size() == 1; });
  EXPECT_EQ(service.node.endpoints().size(), 1U);
  const std::string body = service.get("/whoami").second;
  EXPECT_THAT(body, HasSubstr(cat("\"gpu\":", service.slot().first,
                                  ",\"start\":", service.slot().second, ",")));
  std::size_t held = 0;
  const json::value gpus = service.node.call("GET", "/v1/gpus");
  for (const json::value& gpu : gpus.as_array()) {
    for (const json::value& each : gpu.at("instances").as_array()) {
      if (each.at("state") == "held") ++held;
    }
  }
  EXPECT_EQ(held, 1U);
}

void expect_replay_agrees(const Node& node) {
  auto store = store::Store::open(node.state_dir() + "/tangram.db", {.read_only = true});
  ASSERT_TRUE(store) << store.error().message;
  const auto replayed = store::replay(**store);
  EXPECT_TRUE(replayed) << replayed.error().message;
}

// Two moves by hand within the cooldown left a state that no later start accepted.
TEST(LiveMoves, RestartAfterMovesWithinTheCooldown) {
  ServiceNode service({.config = "[scheduler]\nmigration = \"off\"\ncooldown = \"1h\"\n"});
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(service.move(0, i)) << service.node.log();
  service.node.kill();
  service.node.start();
  expect_consistent(service);
  service.node.stop();
  expect_replay_agrees(service.node);
}

TEST(LiveMoves, NoRequestFailsWhileAServiceIsMoved) {
  ServiceNode service;
  MoveLoad load({.port = service.port(),
                 .keep_alive_clients = 4,
                 .one_shot_clients = 2,
                 .requests_per_second = 300,
                 .stream_clients = 20,
                 .shortest_stream = std::chrono::milliseconds(300),
                 .longest_stream = std::chrono::milliseconds(1'500)});
  const std::uint16_t port = service.port();
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(service.move((i / 2) % 2, i)) << service.node.log();
    ASSERT_EQ(service.port(), port);
  }
  load.stop();
  EXPECT_EQ(load.failures(), 0U) << ::testing::PrintToString(load.failure_messages());
  EXPECT_GT(load.requests, 100U);
  EXPECT_GT(load.streams, 20U);
  EXPECT_GE(load.run_changes, 6U);
  expect_consistent(service);
  const auto places = service.node.job(service.job).at("places").as_array();
  ASSERT_EQ(places.size(), 7U);
  EXPECT_EQ(places[0].at("how"), "placed");
  EXPECT_EQ(places[6].at("how"), "asked");
  EXPECT_EQ(places[6].at("result"), "done");
  service.node.stop();
  expect_replay_agrees(service.node);
}

TEST(LiveMoves, NoRequestFailsAcrossRestartsOfTheDaemon) {
  ServiceNode service;
  MoveLoad load({.port = service.port(),
                 .keep_alive_clients = 4,
                 .one_shot_clients = 2,
                 .requests_per_second = 300,
                 .stream_clients = 10,
                 .shortest_stream = std::chrono::milliseconds(300),
                 .longest_stream = std::chrono::milliseconds(1'500)});
  for (int i = 0; i < 4; ++i) {
    const int gpu = 1 - i % 2;
    service.request_move(gpu, i);
    i % 2 == 0 ? service.node.stop() : service.node.kill();
    service.node.start();
    service.await_no_move();
    ASSERT_EQ(service.slot(), std::pair(gpu, i)) << service.node.log();
  }
  load.stop();
  EXPECT_EQ(load.failures(), 0U) << ::testing::PrintToString(load.failure_messages());
  EXPECT_GT(load.streams, 10U);
  expect_consistent(service);
}

// Requests that last longer than the drain are cut and counted.
TEST(LiveMoves, RequestsThatOutlastTheDrainAreCutAndCounted) {
  ServiceNode service({}, {{"endpoint", {{"drain", "300ms"}}}});
  MoveLoad load({.port = service.port(),
                 .keep_alive_clients = 1,
                 .one_shot_clients = 0,
                 .requests_per_second = 20,
                 .stream_clients = 5,
                 .shortest_stream = std::chrono::milliseconds(60'000),
                 .longest_stream = std::chrono::milliseconds(60'000)});
  eventually("the clients are served", [&] { return load.requests > 10; });
  ASSERT_TRUE(service.move(1, 3)) << service.node.log();
  eventually("the streams were cut", [&] { return load.failures() >= 5; });
  EXPECT_EQ(service.node.job(service.job).at("places").as_array().back().at("cut"), 5);
  EXPECT_THAT(service.node.tangram({"show", std::to_string(service.job)}),
              HasSubstr("done, 5 cut"));
  EXPECT_THAT(std::string(service.node.call("GET", "/metrics").as_string()),
              HasSubstr("tangram_move_requests_total{result=\"cut\"} 5\n"));
  // The clients open new streams to the replica, which end with the service.
  service.node.call("POST", cat("/v1/jobs/", service.job, "/cancel"), 0);
  load.stop();
  service.node.await(service.job, "over");
  EXPECT_GE(load.failures(), 5U);
  eventually("nothing is left",
             [&] { return service.node.shims().empty() && service.node.endpoints().empty(); });
}

class KilledAt : public testing::TestWithParam<const char*> {};

// kill -9 at every step of a move: before and after its commit, and after its actions.
TEST_P(KilledAt, TheMoveIsFinishedOrRolledBack) {
  ServiceNode service;
  const auto before = service.slot();
  service.node.stop();
  service.node.use_environment(
      {"TANGRAM_EMULATOR_LATENCY=0", cat("TANGRAM_CRASH_POINT=", GetParam())});
  service.node.start();
  MoveLoad load({.port = service.port(),
                 .keep_alive_clients = 2,
                 .one_shot_clients = 2,
                 .requests_per_second = 100,
                 .stream_clients = 4,
                 .shortest_stream = std::chrono::milliseconds(200),
                 .longest_stream = std::chrono::milliseconds(600)});
  (void)service.node.try_call("POST", cat("/v1/jobs/", service.job, "/move"),
                              json::object{{"to", {{"gpu", 1}, {"start", 2}}}});
  service.node.await_crash();
  service.node.use_environment({"TANGRAM_EMULATOR_LATENCY=0"});
  service.node.start();
  service.await_no_move();
  load.stop();
  EXPECT_EQ(load.failures(), 0U) << ::testing::PrintToString(load.failure_messages());
  expect_consistent(service);
  const bool was_asked = std::string_view(GetParam()) != "stepped:move-asked";
  EXPECT_EQ(service.slot(), was_asked ? std::pair(1, 2) : before) << service.node.log();
  service.node.stop();
  expect_replay_agrees(service.node);
}

INSTANTIATE_TEST_SUITE_P(Steps, KilledAt,
                         testing::Values("stepped:move-asked", "committed:move-asked",
                                         "performed:create-instance", "stepped:instance-created",
                                         "committed:instance-created", "performed:start-job",
                                         "stepped:job-ready", "committed:job-ready",
                                         "performed:switch-traffic", "stepped:traffic-switched",
                                         "committed:traffic-switched", "stepped:traffic-drained",
                                         "committed:traffic-drained", "performed:stop-job",
                                         "stepped:job-exited", "committed:job-exited"),
                         [](const auto& each) {
                           std::string name = each.param;
                           for (char& c : name)
                             c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
                           return name;
                         });

TEST(LiveMoves, AReplicaThatNeverGetsReadyIsRolledBack) {
  const json::object impatient{
      {"kind", "http"}, {"path", "/health"}, {"interval", "20ms"}, {"deadline", "1s"}};
  ServiceNode service({}, {{"probe", impatient}});
  const auto before = service.slot();
  service.set_load_time(3'600'000);
  EXPECT_FALSE(service.move(1, 0));
  EXPECT_EQ(service.slot(), before);
  expect_consistent(service);
  const auto places = service.node.job(service.job).at("places").as_array();
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(places[1].at("result"), "rolled-back");
}

TEST(LiveMoves, AReplicaOrAShimThatIsKilledLeavesTheOriginal) {
  for (const bool kill_shim : {false, true}) {
    // A long load time, so that the replica can be killed before it is ready.
    ServiceNode service({}, {}, 700);
    const auto shims = service.node.shims();
    ASSERT_EQ(shims.size(), 1U);
    const auto before = service.slot();
    service.request_move(1, 0);
    eventually("its replica runs", [&] { return service.node.run_processes().size() >= 2; });
    if (kill_shim) {
      for (const pid_t shim : service.node.shims()) {
        if (shim != shims[0]) ::kill(shim, SIGKILL);
      }
    } else {
      const auto original = service.node.job(service.job).at("pid").to_number<pid_t>();
      for (const pid_t pid : service.node.run_processes()) {
        if (pid != original) ::kill(pid, SIGKILL);
      }
    }
    service.await_no_move();
    EXPECT_EQ(service.slot(), before) << service.node.log();
    expect_consistent(service);
  }
}

TEST(LiveMoves, AKilledOriginalIsReplacedByItsReplica) {
  ServiceNode service({}, {}, 700);
  const auto original = service.node.job(service.job).at("pid").to_number<pid_t>();
  service.request_move(1, 0);
  eventually("its replica runs", [&] { return service.node.run_processes().size() >= 2; });
  ::kill(original, SIGKILL);
  service.await_no_move();
  EXPECT_EQ(service.slot(), std::pair(1, 0)) << service.node.log();
  eventually("the service answers again", [&] { return service.get("/whoami").first == 200; });
  expect_consistent(service);
  const json::object job = service.node.job(service.job);
  EXPECT_EQ(job.at("places").as_array().back().at("result"), "taken-over");
  // The exit of the original is not reported for the running job.
  EXPECT_TRUE(job.at("exit_code").is_null());
  EXPECT_TRUE(job.at("exit_signal").is_null());
  EXPECT_TRUE(job.at("reason").is_null());
}

TEST(LiveMoves, AKilledEndpointIsReopenedAtItsAddress) {
  ServiceNode service;
  const std::uint16_t port = service.port();
  const auto endpoints = service.node.endpoints();
  ASSERT_EQ(endpoints.size(), 1U);
  ::kill(endpoints[0], SIGKILL);
  eventually("another endpoint runs", [&] {
    const auto now = service.node.endpoints();
    return now.size() == 1 && now[0] != endpoints[0];
  });
  eventually("the service answers", [&] { return service.get("/whoami").first == 200; });
  EXPECT_EQ(service.port(), port);
  ASSERT_TRUE(service.move(1, 5)) << service.node.log();
  expect_consistent(service);
}

// Each driver call of a move is refused, or reports a wrong result, once. For calls that hang see
// DriverFaults.
TEST(LiveMoves, DriverFaultsLeaveOneSlot) {
  for (const char* fault :
       {"nvmlDeviceCreateGpuInstanceWithPlacement=INSUFFICIENT_RESOURCES",
        "nvmlGpuInstanceCreateComputeInstance=UNKNOWN", "nvmlGpuInstanceCreateComputeInstance=lie",
        "nvmlDeviceCreateGpuInstanceWithPlacement=lie", "nvmlGpuInstanceDestroy=IN_USE",
        "nvmlComputeInstanceDestroy=IN_USE"}) {
    ServiceNode service;
    // An idle instance overlaps the target: it must be destroyed first.
    service.node.call("POST", "/v1/gpus/0/cordon", 202);
    service.node.await(service.node.submit("2g.10gb", "exit 0"), "over");
    service.node.call("POST", "/v1/gpus/0/uncordon", 202);
    int code = -1;
    service.node.tangram({"emulate", "fault", "call", fault, "--times", "1"}, &code);
    ASSERT_EQ(code, 0);
    service.request_move(1, 5);
    service.await_no_move();
    expect_consistent(service);
    EXPECT_EQ(service.node.tangram({"emulate", "status"}).find("Faults"), std::string::npos)
        << fault << " was not triggered";
    // Another move without the fault.
    service.node.tangram({"emulate", "fault", "clear"});
    const auto [gpu, start] = service.slot();
    ASSERT_TRUE(service.move(1 - gpu, start == 2 ? 3 : 2)) << fault << service.node.log();
    expect_consistent(service);
  }
}

// §IV-D with real processes: after departures the 1g moves from 0 to 6 while it serves requests,
// and the 4g starts.
TEST(LiveMoves, ThePapersExternalFragmentationIsRepairedLive) {
  ServiceNode service({.emulate = "1xA100-40GB",
                       .config = "[scheduler]\nmigration = \"off\"\ncooldown = \"0s\"\n"});
  Node& node = service.node;
  // As in the paper: the 1g is at 0 and the 2g at 4, with short jobs elsewhere.
  const auto two = node.submit("2g.10gb", "sleep 1000");
  node.await(two, "running");
  ASSERT_TRUE(service.move(0, 0)) << node.log();
  std::vector<std::uint64_t> short_jobs;
  for (int i = 0; i < 2; ++i) {
    short_jobs.push_back(
        node.submit("1g.5gb", cat("while [ ! -e ", node.at("end"), " ]; do sleep 0.02; done")));
  }
  for (const auto id : short_jobs) node.await(id, "running");
  ASSERT_EQ(node.job(two).at("start"), 4);
  const auto four = node.submit("4g.20gb", "sleep 1000");
  EXPECT_EQ(node.state(four), "queued");
  node.tangram({"tune", "migration=both"});
  MoveLoad load({.port = service.port(),
                 .keep_alive_clients = 2,
                 .one_shot_clients = 2,
                 .requests_per_second = 200,
                 .stream_clients = 10,
                 .shortest_stream = std::chrono::milliseconds(200),
                 .longest_stream = std::chrono::milliseconds(1'000)});
  node.folder().write("end", "");
  node.await(four, "running");
  load.stop();
  EXPECT_EQ(service.slot(), std::pair(0, 6));
  EXPECT_EQ(node.job(four).at("start"), 0);
  EXPECT_EQ(load.failures(), 0U) << ::testing::PrintToString(load.failure_messages());
}

}  // namespace
}  // namespace tangram::tests
