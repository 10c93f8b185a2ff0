// How a run ends: by itself, by a stop, by its time limit; and that no process of it is left.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/shim/run.hpp"

namespace tangram::shim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::eventually;
using ::testing::HasSubstr;
using testing::is_gone;
using testing::TestRun;

// How many live processes have the text in their command line.
int count_with(const std::string& text) {
  int count = 0;
  const auto all = all_processes();
  EXPECT_TRUE(all) << all.error().message;
  for (const Process& process : all.value_or(std::vector<Process>())) {
    std::ifstream file(cat("/proc/", process.pid, "/cmdline"), std::ios::binary);
    std::stringstream words;
    words << file.rdbuf();
    if (process.is_alive && words.str().find(text) != std::string::npos) ++count;
  }
  return count;
}

TEST(ShimEnd, StopsByRequest) {
  TestRun run("trap 'echo bye; exit 9' TERM; echo up; while :; do sleep 0.01; done");
  run.start();
  ASSERT_TRUE(run.prints("up"));
  auto client = run.client();
  EXPECT_TRUE(client.reaches("running"));
  client.send(R"({"do":"stop"})");
  EXPECT_TRUE(client.reaches("stopping"));
  const auto ended = client.next_with("exit");
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->at("state"), "over");
  const auto record = run.record();
  EXPECT_EQ(api::read_exit_record(ended->at("exit")), record);
  EXPECT_EQ(record.code, 9);
  EXPECT_TRUE(record.stopped);
  EXPECT_THAT(run.output(), HasSubstr("bye"));
  EXPECT_FALSE(std::filesystem::exists(run.folder() + "/control"));
}

TEST(ShimEnd, ASignalToTheShimIsAStop) {
  for (const int signal : {SIGTERM, SIGINT}) {
    TestRun run("exec sleep 1000");
    run.start();
    ::kill(run.shim(), SIGHUP);
    ::kill(run.shim(), signal);
    const auto record = run.record();
    EXPECT_EQ(record.signal, SIGTERM);
    EXPECT_TRUE(record.stopped);
  }
}

TEST(ShimEnd, KillsAJobThatIgnoresTheStop) {
  TestRun run("trap '' TERM; echo up; while :; do sleep 0.01; done");
  run.spec.grace = milliseconds(50);
  run.start();
  ASSERT_TRUE(run.prints("up"));
  run.client().send(R"({"do":"stop"})");
  const auto record = run.record();
  EXPECT_EQ(record.signal, SIGKILL);
  EXPECT_TRUE(record.stopped);
}

TEST(ShimEnd, ALaterStopShortensTheGrace) {
  TestRun run("trap '' TERM; echo up; while :; do sleep 0.01; done");
  run.spec.grace = std::chrono::hours(10);
  run.start();
  ASSERT_TRUE(run.prints("up"));
  auto client = run.client();
  client.send(R"({"do":"stop"})");
  EXPECT_TRUE(client.reaches("stopping"));
  client.send(R"({"do":"stop","grace_ms":20})");
  client.send(R"({"do":"stop","grace_ms":99999999})");  // does not lengthen it again
  EXPECT_EQ(run.record().signal, SIGKILL);
}

TEST(ShimEnd, StopsAStoppedJob) {
  TestRun run("trap 'exit 4' TERM; kill -STOP $$; sleep 1000");
  const std::string line = run.start();
  const auto pid = static_cast<pid_t>(boost::json::parse(line).at("pid").as_int64());
  ASSERT_TRUE(eventually([&] { return find_process(pid)->stopped; }));
  run.client().send(R"({"do":"stop"})");
  EXPECT_EQ(run.record().code, 4);
}

TEST(ShimEnd, KeepsTheTimeLimit) {
  TestRun run("trap '' TERM; while :; do sleep 0.01; done");
  run.spec.time_limit = milliseconds(60);
  run.spec.grace = milliseconds(40);
  const auto record = run.run();
  EXPECT_TRUE(record.time_limit);
  EXPECT_FALSE(record.stopped);
  EXPECT_EQ(record.signal, SIGKILL);
  EXPECT_EQ(record.reason, "time limit of 60ms reached");
  EXPECT_GE(record.ended - record.started, milliseconds(95));
}

// A job that was moved: its earlier runs count.
TEST(ShimEnd, TimeSpentBeforeCountsForTheLimit) {
  for (const seconds spent : {seconds(3'599), seconds(3'700)}) {
    TestRun run("exec sleep 1000");
    run.spec.time_limit = seconds(3'600);
    run.spec.time_spent = spent;
    const auto record = run.run();
    EXPECT_TRUE(record.time_limit);
    EXPECT_EQ(record.reason, "time limit of 1h reached");
  }
}

TEST(ShimEnd, AJobThatEndsInTimeIsNotAffectedByItsLimit) {
  TestRun run("exit 0");
  run.spec.time_limit = seconds(1'000);
  const auto record = run.run();
  EXPECT_FALSE(record.time_limit);
  EXPECT_EQ(record.reason, "");
}

TEST(ShimEnd, ProcessesForkedByTheJobDieWithIt) {
  TestRun run("");
  const std::string folder = run.base().at("");
  run.spec.command = {"sh", "-c",
                      cat("cd ", folder,
                          "; sleep 1001 & echo $! > plain; "
                          "(trap '' TERM HUP; sleep 1002 & echo $! > deaf); "
                          "wait_for() { while [ ! -s $1 ]; do sleep 0.01; done; }; "
                          // Detached, no streams, empty environment.
                          "setsid sh -c 'setsid env -i /bin/sh -c \"echo \\$\\$ > scrubbed; exec "
                          "/bin/sleep 1003\" </dev/null >/dev/null 2>&1 &' & "
                          "wait_for plain; wait_for deaf; wait_for scrubbed; exit 3")};
  EXPECT_EQ(run.run().code, 3);
  for (const char* name : {"plain", "deaf", "scrubbed"}) {
    EXPECT_TRUE(is_gone(run.pid_in(name))) << name;
  }
}

TEST(ShimEnd, TheRunEndsWithItsLastProcess) {
  TestRun run("sleep 1000 & trap '' TERM; sh -c 'trap \"\" TERM; sleep 1000' & sleep 1000");
  run.start();
  ASSERT_TRUE(
      eventually([&] { return testing::live_processes({.tag = run.spec.tag}).size() >= 4; }));
  run.client().send(R"({"do":"stop","grace_ms":10})");
  run.record();
  EXPECT_TRUE(testing::live_processes({.tag = run.spec.tag}).empty());
}

TEST(ShimEnd, CatchesProcessesThatForkEndlessly) {
  TestRun run("");
  // Each hop is a new process in a new session with no environment; its parent ends at once.
  const std::string forker = run.base().write(
      "forker", "/usr/bin/setsid /usr/bin/env -i /bin/sh \"$0\" >/dev/null 2>&1 &\n");
  run.spec.command = {"sh", "-c",
                      cat("for i in 1 2 3 4; do sh ", forker, " & done; sleep 0.2; exit 8")};
  EXPECT_EQ(run.run().code, 8);
  EXPECT_EQ(count_with(forker), 0);
}

TEST(ShimEnd, SurvivesALightForkBomb) {
  TestRun run("");
  // A tree of 2^7 processes whose leaves fork all the time.
  const std::string bomb =
      run.base().write("bomb",
                       "[ $1 -gt 0 ] || { echo leaf; while :; do /bin/true; done; }\n"
                       "sh \"$0\" $(($1 - 1)) & sh \"$0\" $(($1 - 1)) & wait\n");
  run.spec.command = {"sh", bomb, "6"};
  run.start();
  ASSERT_TRUE(run.prints("leaf\nleaf\nleaf\nleaf\nleaf\nleaf\nleaf\nleaf\n"));
  auto client = run.client();
  client.send(R"({"do":"stop","grace_ms":0})");
  run.record();
  EXPECT_EQ(count_with(bomb), 0);
}

TEST(ShimEnd, AKilledShimKillsTheJobAndOtherProcessesAreFoundByTheTag) {
  TestRun run("");
  run.spec.command = {
      "sh", "-c",
      cat("cd ", run.base().at(""),
          "; setsid sleep 1000 & echo $! > other; echo $$ > main; exec sleep 1000")};
  run.start();
  const pid_t main = run.pid_in("main");
  const pid_t other = run.pid_in("other");
  ASSERT_EQ(::kill(run.shim(), SIGKILL), 0);
  ::waitpid(run.shim(), nullptr, 0);
  run.forget_shim();
  EXPECT_TRUE(eventually([&] { return is_gone(main); }));
  EXPECT_FALSE(is_gone(other));
  EXPECT_FALSE(is_shim_running(run.folder()));
  EXPECT_TRUE(was_started(run.folder()));
  EXPECT_EQ(*read_exit(run.folder()), std::nullopt);
  const auto killed = kill_all({.tag = run.spec.tag}, seconds(20));
  EXPECT_TRUE(killed.all_gone);
  EXPECT_TRUE(killed.remaining.empty());
  EXPECT_TRUE(is_gone(other));
}

TEST(Processes, ProcessesOfOtherRunsAreNotIncluded) {
  TestRun one("exec sleep 1000");
  TestRun other("exec sleep 1000");
  one.start();
  other.start();
  const auto found = testing::live_processes({.tag = other.spec.tag});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(testing::live_processes({.tag = other.spec.tag + "x"}).empty());
  EXPECT_TRUE(testing::live_processes({.tag = other.spec.tag.substr(0, 5)}).empty());
  EXPECT_TRUE(kill_all({.tag = other.spec.tag}, seconds(20)).all_gone);
  EXPECT_EQ(other.record().signal, SIGKILL);
  EXPECT_EQ(testing::live_processes({.tag = one.spec.tag}).size(), 1U);
}

TEST(Processes, ParsesTheKernelsLine) {
  const std::string other = " 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 777 0 0";
  const auto plain = parse_stat("12 (name) S" + other);
  ASSERT_TRUE(plain);
  EXPECT_EQ(*plain, (Process{.pid = 12, .parent = 1, .start_ticks = 777, .is_alive = true}));
  EXPECT_EQ(parse_stat("12 (a) b) Z 3 4) S" + other), plain);
  EXPECT_TRUE(parse_stat("12 (x) T" + other)->stopped);
  EXPECT_FALSE(parse_stat("12 (x) Z" + other)->is_alive);
  // A zombie that leads threads which still run.
  EXPECT_TRUE(parse_stat("12 (x) Z 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 4 0 777 0")->is_alive);
  for (const char* bad : {"", "12", "12 (x)", "12 (x) S", "12 (x) S 1 1", "x (x) S 1 2 3 4"}) {
    EXPECT_EQ(parse_stat(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace tangram::shim
