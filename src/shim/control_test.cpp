// The control socket of a running shim, with valid and hostile clients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shim/request.hpp"
#include "tests/support/shim/run.hpp"

namespace tangram::shim {
namespace {

using testing::Client;
using testing::eventually;
using ::testing::HasSubstr;
using testing::TestRun;

TEST(ShimControl, SendsASignalToTheJob) {
  TestRun run("trap 'echo usr1' USR1; echo up; while :; do sleep 0.01; done");
  run.start();
  ASSERT_TRUE(run.prints("up"));
  run.client().send(R"({"do":"signal","signal":10})");
  EXPECT_TRUE(run.prints("usr1"));
}

TEST(ShimControl, SendsASignalToTheMainProcessOnly) {
  TestRun run(
      "sh -c \"trap 'echo child' USR1; echo up; while :; do sleep 0.01; done\" & "
      "trap 'echo main' USR1; while :; do wait; done");
  run.start();
  ASSERT_TRUE(run.prints("up"));
  auto client = run.client();
  client.send(R"({"do":"signal","signal":10,"to":"main"})");
  ASSERT_TRUE(run.prints("main"));
  EXPECT_THAT(run.output(), ::testing::Not(HasSubstr("child")));
  client.send(R"({"do":"signal","signal":10,"to":"group"})");
  EXPECT_TRUE(run.prints("child"));
}

// A process that installs its handler late, by the file "install" in the run's base folder.
TEST(ShimControl, RequestsACheckpointOnlyIfTheMainProcessHasAHandler) {
  TestRun run("");
  run.spec.command = {
      "sh", "-c",
      cat("sh -c \"trap 'echo child' USR1; echo up; while :; do sleep 0.01; done\" & "
          "while [ ! -e ",
          run.base().at("install"),
          " ]; do sleep 0.01; done; trap 'echo saving' USR1; echo installed; "
          "while :; do sleep 0.01; done")};
  run.start();
  ASSERT_TRUE(run.prints("up"));
  auto client = run.client();
  const auto greeting = client.next_with("takes_checkpoint");
  ASSERT_TRUE(greeting);
  EXPECT_EQ(greeting->at("takes_checkpoint"), true);
  client.send(R"({"do":"checkpoint","id":7,"signal":10})");
  auto answer = client.next_with("done");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at("done"), 7);
  EXPECT_EQ(answer->at("ok"), false);
  EXPECT_EQ(answer->at("detail"), "not ready to be moved: it has no handler for SIGUSR1 yet.");
  run.base().write("install", "");
  ASSERT_TRUE(run.prints("installed"));
  client.send(R"({"do":"checkpoint","id":8,"signal":10})");
  answer = client.next_with("done");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at("ok"), true) << answer->at("detail");
  EXPECT_TRUE(run.prints("saving"));
  EXPECT_THAT(run.output(), ::testing::Not(HasSubstr("child")));
  client.send(R"({"do":"checkpoint","id":9,"signal":12})");
  EXPECT_EQ(client.next_with("done")->at("ok"), false);
}

TEST(ShimControl, AnIgnoredSignalIsNotHandled) {
  TestRun run("trap '' USR1; echo up; while :; do sleep 0.01; done");
  run.start();
  ASSERT_TRUE(run.prints("up"));
  auto client = run.client();
  client.send(R"({"do":"checkpoint","id":7,"signal":10})");
  const auto answer = client.next_with("done");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at("ok"), false);
}

TEST(ShimControl, AFrozenOrStoppingRunIsNotAskedForACheckpoint) {
  TestRun run("trap 'echo saving' USR1; trap '' TERM; echo up; while :; do sleep 0.01; done");
  run.start();
  ASSERT_TRUE(run.prints("up"));
  auto client = run.client();
  client.send(R"({"do":"freeze","id":1})");
  ASSERT_EQ(client.next_with("done")->at("ok"), true);
  client.send(R"({"do":"checkpoint","id":2,"signal":10})");
  EXPECT_EQ(client.next_with("done")->at("detail"), "the run is frozen.");
  client.send(R"({"do":"thaw","id":3})");
  ASSERT_EQ(client.next_with("done")->at("ok"), true);
  client.send(R"({"do":"stop","grace_ms":20000})");
  client.send(R"({"do":"checkpoint","id":4,"signal":10})");
  EXPECT_EQ(client.next_with("done")->at("detail"), "the job is not running.");
  EXPECT_THAT(run.output(), ::testing::Not(HasSubstr("saving")));
}

TEST(ShimControl, RejectsMalformedLines) {
  TestRun run("exec sleep 1000");
  run.start();
  auto client = run.client();
  for (const char* line : {"",
                           "x",
                           "[]",
                           "7",
                           "{}",
                           R"({"do":7})",
                           R"({"do":"dance"})",
                           R"({"do":"signal"})",
                           R"({"do":"signal","signal":0})",
                           R"({"do":"signal","signal":65})",
                           R"({"do":"signal","signal":"TERM"})",
                           R"({"do":"signal","signal":10,"to":"all"})",
                           R"({"do":"checkpoint","id":1})",
                           R"({"do":"checkpoint","id":1,"signal":0})",
                           R"({"do":"checkpoint","signal":10})",
                           R"({"do":"probe"})",
                           R"({"do":"freeze","id":-1})",
                           R"({"do":"stop","grace_ms":-1})",
                           R"({"do":"stop","grace_ms":1.5})",
                           "\xff\x01"}) {
    ASSERT_TRUE(client.send(line));
    const auto answer = client.next_with("error");
    EXPECT_TRUE(answer) << line;
  }
  EXPECT_FALSE(testing::is_gone(run.shim()));
  EXPECT_EQ(testing::live_processes({.tag = run.spec.tag}).size(), 1U);
}

TEST(ShimControl, DisconnectsAClientThatSendsAnEndlessLine) {
  TestRun run("exec sleep 1000");
  run.start();
  auto client = run.client();
  ASSERT_TRUE(client.next());
  client.send(std::string(80'000, 'x'));
  ASSERT_TRUE(client.next_with("error"));
  EXPECT_FALSE(client.next());
  EXPECT_TRUE(run.client().next());
}

TEST(ShimControl, DisconnectsAClientThatDoesNotRead) {
  TestRun run("exec sleep 1000");
  run.start();
  const auto silent = connect_control(run.folder());
  ASSERT_TRUE(silent);
  // Every line is answered; the answers are not read.
  const std::string lines = [] {
    std::string text;
    for (int i = 0; i < 1'000; ++i) text += "x\n";
    return text;
  }();
  EXPECT_TRUE(eventually([&] {
    return ::send(silent->get(), lines.data(), lines.size(), MSG_NOSIGNAL) < 0 && errno != EAGAIN;
  }));
  EXPECT_TRUE(run.client().next());
}

TEST(ShimControl, AcceptsSixteenClients) {
  TestRun run("exec sleep 1000");
  run.start();
  std::vector<Client> clients;
  for (int i = 0; i < 16; ++i) {
    clients.push_back(run.client());
    EXPECT_TRUE(clients.back().next()) << i;
  }
  EXPECT_FALSE(run.client().next());
  clients.pop_back();
  EXPECT_TRUE(eventually([&] { return run.client().next().has_value(); }));
}

TEST(ShimControl, IsReachedThroughALongPath) {
  TestRun run("exec sleep 1000");
  const std::string deep =
      run.base().at(cat(std::string(100, 'a'), "/", std::string(100, 'b'), "/run"));
  std::filesystem::create_directories(std::filesystem::path(deep).parent_path());
  ASSERT_TRUE(prepare_folder(deep, run.spec));
  const pid_t shim = ::fork();
  if (shim == 0) {
    ::execl(TANGRAM_SHIM, TANGRAM_SHIM, deep.c_str(), nullptr);
    ::_exit(99);
  }
  ASSERT_TRUE(eventually([&] { return Client(deep).ok(); }));
  Client client(deep);
  EXPECT_TRUE(client.reaches("running"));
  client.send(R"({"do":"stop"})");
  EXPECT_TRUE(client.next_with("exit"));
  EXPECT_EQ(TestRun::wait_for(shim), 0);
}

TEST(ShimControl, RejectsOtherUsers) {
  TestRun run("exec sleep 1000");
  run.start();
  struct stat status{};
  ASSERT_EQ(::stat((run.folder() + "/control").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to try as another user";
  // A client is rejected even if file permissions let it connect.
  ASSERT_EQ(::chmod((run.folder() + "/control").c_str(), 0777), 0);
  const os::Descriptor folder(::open(run.folder().c_str(), O_PATH | O_CLOEXEC));
  ASSERT_EQ(::chmod(run.folder().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(run.base().at("").c_str(), 0755), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::setresuid(65'534, 65'534, 65'534) != 0) ::_exit(1);
    Client client(run.folder());
    if (!client.ok()) ::_exit(2);
    ::_exit(client.next() ? 3 : 0);
  }
  EXPECT_EQ(TestRun::wait_for(pid), 0);
}

TEST(ShimControl, ProbesRunInTheJobsContext) {
  TestRun run("exec sleep 1000");
  run.spec.directory = "/usr";
  run.spec.environment["MARK"] = "m";
  run.spec.probe_command = {"sh", "-c", "echo first; echo $PWD $MARK $TANGRAM_RUN"};
  run.start();
  auto client = run.client();
  client.send(R"({"do":"probe","id":7})");
  const auto answer = client.next_with("probe");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at("probe"), 7);
  EXPECT_EQ(answer->at("ok"), true);
  EXPECT_EQ(answer->at("detail").as_string(), cat("/usr m ", run.spec.tag));
}

TEST(ShimControl, ReportsWhyAProbeFailed) {
  const std::pair<std::vector<std::string>, const char*> probes[] = {
      {{"sh", "-c", "echo not yet; exit 3"}, "exit status 3: not yet"},
      {{"false"}, "exit status 1"},
      {{"sh", "-c", "kill -9 $$"}, "ended by signal 9"},
      {{"no-such-probe"}, "cannot execute 'no-such-probe'"},
      {{}, "no probe command"},
  };
  for (const auto& [command, detail] : probes) {
    TestRun run("exec sleep 1000");
    run.spec.probe_command = command;
    run.start();
    auto client = run.client();
    client.send(R"({"do":"probe","id":1})");
    const auto answer = client.next_with("probe");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->at("ok"), false);
    EXPECT_THAT(std::string(answer->at("detail").as_string()), HasSubstr(detail));
  }
}

TEST(ShimControl, ALateProbeIsKilledWithItsChildren) {
  TestRun run("exec sleep 1000");
  run.spec.probe_timeout = std::chrono::milliseconds(80);
  run.spec.probe_command = {
      "sh", "-c", cat("sleep 1000 & echo $! > ", run.base().at("child"), "; echo slow; wait")};
  run.start();
  auto client = run.client();
  auto other = run.client();
  client.send(R"({"do":"probe","id":1})");
  client.send(R"({"do":"probe","id":2})");
  other.send(R"({"do":"probe","id":3})");
  const auto first = client.next_with("probe");
  const auto second = client.next_with("probe");
  const auto third = other.next_with("probe");
  ASSERT_TRUE(first && second && third);
  EXPECT_EQ(first->at("detail"), "no answer within 80 ms: slow");
  EXPECT_EQ(second->at("detail"), first->at("detail"));
  EXPECT_EQ(third->at("ok"), false);
  EXPECT_TRUE(eventually([&] { return testing::is_gone(run.pid_in("child")); }));
  EXPECT_EQ(testing::live_processes({.tag = run.spec.tag}).size(), 1U);
}

TEST(ShimControl, BoundsTheOutputOfAProbe) {
  TestRun run("exec sleep 1000");
  run.spec.probe_timeout = std::chrono::milliseconds(100);
  run.spec.probe_command = {"yes", std::string(3'000, 'y')};
  run.start();
  auto client = run.client();
  client.send(R"({"do":"probe","id":1})");
  const auto answer = client.next_with("probe");
  ASSERT_TRUE(answer);
  EXPECT_LE(answer->at("detail").as_string().size(), 600U);
}

TEST(ShimControl, FreezesAndThaws) {
  TestRun run("sh -c 'while :; do echo tick; sleep 0.002; done' & wait");
  run.start();
  ASSERT_TRUE(run.prints("tick"));
  auto client = run.client();
  client.send(R"({"do":"freeze","id":8})");
  auto answer = client.next_with("done");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at("done"), 8);
  EXPECT_EQ(answer->at("ok"), true) << answer->at("detail");
  const auto frozen = testing::live_processes({.tag = run.spec.tag});
  EXPECT_GE(frozen.size(), 2U);
  for (const Process& process : frozen) {
    // A shell in vfork() is in uninterruptible sleep; it stops before it runs again.
    const bool will_stop = process.uninterruptible && has_pending(process.pid, SIGSTOP);
    EXPECT_TRUE(process.stopped || will_stop) << process.pid;
  }
  client.send(R"({"do":"probe","id":1})");
  EXPECT_EQ(client.next_with("probe")->at("detail"), "the run is frozen.");
  client.send(R"({"do":"thaw","id":9})");
  answer = client.next_with("done");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at("ok"), true) << answer->at("detail");
  const std::size_t size = run.output().size();
  EXPECT_TRUE(eventually([&] { return run.output().size() > size + 20; }));
}

// Its successor may be running: it is not even thawed to exit gracefully.
TEST(ShimControl, AFrozenRunIsKilledWithoutBeingThawed) {
  enum class Cause : std::uint8_t { kRequest, kSignalToTheShim, kTimeLimit };
  for (const Cause cause : {Cause::kRequest, Cause::kSignalToTheShim, Cause::kTimeLimit}) {
    TestRun run("trap 'echo went on' TERM; echo up; while :; do sleep 0.01; done");
    if (cause == Cause::kTimeLimit) run.spec.time_limit = std::chrono::milliseconds(1'000);
    run.start();
    ASSERT_TRUE(run.prints("up"));
    auto client = run.client();
    client.send(R"({"do":"freeze","id":1})");
    ASSERT_EQ(client.next_with("done")->at("ok"), true);
    if (cause == Cause::kRequest) client.send(R"({"do":"stop"})");
    if (cause == Cause::kSignalToTheShim) ::kill(run.shim(), SIGTERM);
    const auto record = run.record();
    EXPECT_EQ(record.signal, SIGKILL);
    EXPECT_EQ(record.time_limit, cause == Cause::kTimeLimit);
    EXPECT_EQ(run.output(), "up\n");
  }
}

TEST(ShimControl, AFrozenRunGetsNoSignals) {
  TestRun run("trap 'echo usr1' USR1; echo up; while :; do sleep 0.01; done");
  run.start();
  ASSERT_TRUE(run.prints("up"));
  auto client = run.client();
  client.send(R"({"do":"freeze","id":1})");
  ASSERT_EQ(client.next_with("done")->at("ok"), true);
  for (const char* line : {R"({"do":"signal","signal":18})", R"({"do":"signal","signal":10})"}) {
    client.send(line);
    EXPECT_EQ(client.next_with("error")->at("error"), "cannot signal the job: the run is frozen.");
  }
  for (const Process& process : testing::live_processes({.tag = run.spec.tag})) {
    EXPECT_TRUE(process.stopped || process.uninterruptible) << process.pid;
  }
  client.send(R"({"do":"thaw","id":2})");
  ASSERT_EQ(client.next_with("done")->at("ok"), true);
  client.send(R"({"do":"signal","signal":10})");
  EXPECT_TRUE(run.prints("usr1"));
}

}  // namespace
}  // namespace tangram::shim
