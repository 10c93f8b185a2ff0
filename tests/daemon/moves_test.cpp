// Services moved while they run, without a failed request, and whatever may die or fail on the way.
// One rule: at the end the job is served from exactly one place, nothing is left over, and the
// journal tells the same story.
#include <csignal>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "served.hpp"
#include "store/replay.hpp"
#include "visitors.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

// What stands on the node and what the books say, when nothing is under way.
void expect_in_order(Served& served) {
  served.await_rest();
  EXPECT_EQ(served.get("/whoami").first, 200);
  const json::object job = served.node.job(served.job);
  EXPECT_EQ(job.at("state"), "running");
  eventually("one run is left", [&] { return served.node.shims().size() == 1; });
  EXPECT_EQ(served.node.endpoints().size(), 1U);
  const std::string body = served.get("/whoami").second;
  EXPECT_THAT(body, HasSubstr(cat("\"gpu\":", served.place().first,
                                  ",\"start\":", served.place().second, ",")));
  std::size_t held = 0;
  const json::value gpus = served.node.ask("GET", "/v1/gpus");
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

TEST(LiveMoves, NoRequestFailsWhileAServiceIsMoved) {
  Served served;
  Visitors visitors({.port = served.port(),
                     .keeping = 4,
                     .passing = 2,
                     .requests_per_second = 300,
                     .listening = 20,
                     .shortest = std::chrono::milliseconds(300),
                     .longest = std::chrono::milliseconds(1'500)});
  const std::uint16_t port = served.port();
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(served.move((i / 2) % 2, i)) << served.node.log();
    ASSERT_EQ(served.port(), port);
  }
  visitors.stop();
  EXPECT_EQ(visitors.failures(), 0U) << ::testing::PrintToString(visitors.complaints());
  EXPECT_GT(visitors.requests, 100U);
  EXPECT_GT(visitors.streams, 20U);
  EXPECT_GE(visitors.places, 6U);
  expect_in_order(served);
  const auto places = served.node.job(served.job).at("places").as_array();
  ASSERT_EQ(places.size(), 7U);
  EXPECT_EQ(places[0].at("how"), "placed");
  EXPECT_EQ(places[6].at("how"), "asked");
  EXPECT_EQ(places[6].at("result"), "done");
  served.node.stop();
  expect_replay_agrees(served.node);
}

TEST(LiveMoves, NoRequestFailsOverRestartsOfTheDaemon) {
  Served served;
  Visitors visitors({.port = served.port(),
                     .keeping = 4,
                     .passing = 2,
                     .requests_per_second = 300,
                     .listening = 10,
                     .shortest = std::chrono::milliseconds(300),
                     .longest = std::chrono::milliseconds(1'500)});
  for (int i = 0; i < 4; ++i) {
    const int gpu = 1 - i % 2;
    served.ask_move(gpu, i);
    i % 2 == 0 ? served.node.stop() : served.node.kill();
    served.node.start();
    served.await_rest();
    ASSERT_EQ(served.place(), std::pair(gpu, i)) << served.node.log();
  }
  visitors.stop();
  EXPECT_EQ(visitors.failures(), 0U) << ::testing::PrintToString(visitors.complaints());
  EXPECT_GT(visitors.streams, 10U);
  expect_in_order(served);
}

// What lasts longer than the drain is cut, and counted.
TEST(LiveMoves, WhatOutlastsItsDrainIsCutAndCounted) {
  Served served({}, {{"endpoint", {{"drain", "300ms"}}}});
  Visitors visitors({.port = served.port(),
                     .keeping = 1,
                     .passing = 0,
                     .requests_per_second = 20,
                     .listening = 5,
                     .shortest = std::chrono::milliseconds(60'000),
                     .longest = std::chrono::milliseconds(60'000)});
  eventually("all listen", [&] { return visitors.requests > 10; });
  ASSERT_TRUE(served.move(1, 3)) << served.node.log();
  eventually("they were cut", [&] { return visitors.failures() >= 5; });
  EXPECT_EQ(served.node.job(served.job).at("places").as_array().back().at("cut"), 5);
  EXPECT_THAT(served.node.tangram({"show", std::to_string(served.job)}), HasSubstr("done, 5 cut"));
  EXPECT_THAT(std::string(served.node.ask("GET", "/metrics").as_string()),
              HasSubstr("tangram_move_requests_total{result=\"cut\"} 5\n"));
  // They listen again, to the replica; that ends with the service.
  served.node.ask("POST", cat("/v1/jobs/", served.job, "/cancel"), 0);
  visitors.stop();
  served.node.await(served.job, "over");
  EXPECT_GE(visitors.failures(), 5U);
  eventually("nothing is left",
             [&] { return served.node.shims().empty() && served.node.endpoints().empty(); });
}

class KilledAt : public testing::TestWithParam<const char*> {};

// kill -9 at every step of a move, before and after its commit and after what follows from it.
TEST_P(KilledAt, TheMoveIsFinishedOrTakenBack) {
  Served served;
  const auto before = served.place();
  served.node.stop();
  served.node.use_environment({"TANGRAM_EMULATOR_LATENCY=0", cat("TANGRAM_DIE_AT=", GetParam())});
  served.node.start();
  Visitors visitors({.port = served.port(),
                     .keeping = 2,
                     .passing = 2,
                     .requests_per_second = 100,
                     .listening = 4,
                     .shortest = std::chrono::milliseconds(200),
                     .longest = std::chrono::milliseconds(600)});
  (void)served.node.try_ask("POST", cat("/v1/jobs/", served.job, "/move"),
                            json::object{{"to", {{"gpu", 1}, {"start", 2}}}});
  served.node.await_death();
  served.node.use_environment({"TANGRAM_EMULATOR_LATENCY=0"});
  served.node.start();
  served.await_rest();
  visitors.stop();
  EXPECT_EQ(visitors.failures(), 0U) << ::testing::PrintToString(visitors.complaints());
  expect_in_order(served);
  const bool was_asked = std::string_view(GetParam()) != "stepped:move-asked";
  EXPECT_EQ(served.place(), was_asked ? std::pair(1, 2) : before) << served.node.log();
  served.node.stop();
  expect_replay_agrees(served.node);
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

// Processes that die in the middle: each leaves the job served from one place.
TEST(LiveMoves, AReplicaThatNeverGetsReadyIsTakenBack) {
  const Served::Probe impatient{
      {"kind", "http"}, {"path", "/health"}, {"interval", "20ms"}, {"deadline", "1s"}};
  Served served({}, {{"probe", impatient}});
  const auto before = served.place();
  served.load_for(3'600'000);
  EXPECT_FALSE(served.move(1, 0));
  EXPECT_EQ(served.place(), before);
  expect_in_order(served);
  const auto places = served.node.job(served.job).at("places").as_array();
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(places[1].at("result"), "rolled-back");
}

TEST(LiveMoves, AReplicaOrAShimThatIsKilledLeavesTheOriginal) {
  for (const bool kill_shim : {false, true}) {
    // Slow to load, so that there is time to kill it.
    Served served({}, {}, 700);
    const auto shims = served.node.shims();
    ASSERT_EQ(shims.size(), 1U);
    const auto before = served.place();
    served.ask_move(1, 0);
    eventually("its replica is there", [&] { return served.node.run_processes().size() >= 2; });
    if (kill_shim) {
      for (const pid_t shim : served.node.shims()) {
        if (shim != shims[0]) ::kill(shim, SIGKILL);
      }
    } else {
      const auto original = served.node.job(served.job).at("pid").to_number<pid_t>();
      for (const pid_t pid : served.node.run_processes()) {
        if (pid != original) ::kill(pid, SIGKILL);
      }
    }
    served.await_rest();
    EXPECT_EQ(served.place(), before) << served.node.log();
    expect_in_order(served);
  }
}

TEST(LiveMoves, AnOriginalThatIsKilledIsFollowedByItsReplica) {
  Served served({}, {}, 700);
  const auto original = served.node.job(served.job).at("pid").to_number<pid_t>();
  served.ask_move(1, 0);
  eventually("its replica is there", [&] { return served.node.run_processes().size() >= 2; });
  ::kill(original, SIGKILL);
  served.await_rest();
  EXPECT_EQ(served.place(), std::pair(1, 0)) << served.node.log();
  eventually("it is reached again", [&] { return served.get("/whoami").first == 200; });
  expect_in_order(served);
  const json::object job = served.node.job(served.job);
  EXPECT_EQ(job.at("places").as_array().back().at("result"), "taken-over");
  // How the original ended is nothing of the job that runs.
  EXPECT_TRUE(job.at("exit_code").is_null());
  EXPECT_TRUE(job.at("exit_signal").is_null());
  EXPECT_TRUE(job.at("reason").is_null());
}

TEST(LiveMoves, AnEndpointThatIsKilledComesBackAtItsAddress) {
  Served served;
  const std::uint16_t port = served.port();
  const auto endpoints = served.node.endpoints();
  ASSERT_EQ(endpoints.size(), 1U);
  ::kill(endpoints[0], SIGKILL);
  eventually("another one is there", [&] {
    const auto now = served.node.endpoints();
    return now.size() == 1 && now[0] != endpoints[0];
  });
  eventually("it is reached", [&] { return served.get("/whoami").first == 200; });
  EXPECT_EQ(served.port(), port);
  ASSERT_TRUE(served.move(1, 5)) << served.node.log();
  expect_in_order(served);
}

// The changes that a move makes, refused or lied about once; hanging ones: DriverFaults.
TEST(LiveMoves, FaultsOfTheDriverLeaveOnePlace) {
  for (const char* fault :
       {"nvmlDeviceCreateGpuInstanceWithPlacement=INSUFFICIENT_RESOURCES",
        "nvmlGpuInstanceCreateComputeInstance=UNKNOWN", "nvmlGpuInstanceCreateComputeInstance=lie",
        "nvmlDeviceCreateGpuInstanceWithPlacement=lie", "nvmlGpuInstanceDestroy=IN_USE",
        "nvmlComputeInstanceDestroy=IN_USE"}) {
    Served served;
    // An idle instance lies in the way: it must be destroyed first.
    served.node.ask("POST", "/v1/gpus/0/cordon", 202);
    served.node.await(served.node.submit("2g.10gb", "exit 0"), "over");
    served.node.ask("POST", "/v1/gpus/0/uncordon", 202);
    int code = -1;
    served.node.tangram({"emulate", "fault", "call", fault, "--times", "1"}, &code);
    ASSERT_EQ(code, 0);
    served.ask_move(1, 5);
    served.await_rest();
    expect_in_order(served);
    EXPECT_EQ(served.node.tangram({"emulate", "status"}).find("Faults"), std::string::npos)
        << fault << " did not happen";
    // And once more without it.
    served.node.tangram({"emulate", "fault", "clear"});
    const auto [gpu, start] = served.place();
    ASSERT_TRUE(served.move(1 - gpu, start == 2 ? 3 : 2)) << fault << served.node.log();
    expect_in_order(served);
  }
}

// §IV-D, live: departures leave a hole, the 1g moves from 0 to 6 while it serves, the 4g starts.
TEST(LiveMoves, ThePapersExternalFragmentationIsMendedLive) {
  Served served({.emulate = "1xA100-40GB",
                 .config = "[scheduler]\nmigration = \"off\"\ncooldown = \"0s\"\n"});
  Node& node = served.node;
  // As in the paper: the 1g stands at 0 and the 2g at 4, with short jobs elsewhere.
  const auto two = node.submit("2g.10gb", "sleep 1000");
  node.await(two, "running");
  ASSERT_TRUE(served.move(0, 0)) << node.log();
  std::vector<std::uint64_t> brief;
  for (int i = 0; i < 2; ++i) {
    brief.push_back(
        node.submit("1g.5gb", cat("while [ ! -e ", node.at("end"), " ]; do sleep 0.02; done")));
  }
  for (const auto id : brief) node.await(id, "running");
  ASSERT_EQ(node.job(two).at("start"), 4);
  const auto four = node.submit("4g.20gb", "sleep 1000");
  EXPECT_EQ(node.state(four), "queued");
  node.tangram({"tune", "migration=both"});
  Visitors visitors({.port = served.port(),
                     .keeping = 2,
                     .passing = 2,
                     .requests_per_second = 200,
                     .listening = 10,
                     .shortest = std::chrono::milliseconds(200),
                     .longest = std::chrono::milliseconds(1'000)});
  node.folder().write("end", "");
  node.await(four, "running");
  visitors.stop();
  EXPECT_EQ(served.place(), std::pair(0, 6));
  EXPECT_EQ(node.job(four).at("start"), 0);
  EXPECT_EQ(visitors.failures(), 0U) << ::testing::PrintToString(visitors.complaints());
}

}  // namespace
}  // namespace tangram::tests
