// How a job is started and how its end is recorded, with real shims and processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/os/blocked_program.hpp"
#include "tests/support/shim/run.hpp"

namespace tangram::shim {
namespace {

using ::testing::HasSubstr;
using testing::TestRun;

TEST(ShimStart, RecordsTheExitCode) {
  for (const int code : {0, 1, 42, 127, 255}) {
    TestRun run(cat("exit ", code));
    const auto record = run.run();
    EXPECT_EQ(record.code, code);
    EXPECT_EQ(record.signal, std::nullopt);
    EXPECT_EQ(record.reason, "");
    EXPECT_FALSE(record.stopped || record.time_limit);
    EXPECT_LE(record.started, record.ended);
  }
}

TEST(ShimStart, RecordsTheSignal) {
  for (const int signal : {SIGKILL, SIGTERM, SIGSEGV, SIGHUP, SIGUSR1, SIGRTMAX}) {
    TestRun run(cat("kill -", signal, " $$"));
    const auto record = run.run();
    EXPECT_EQ(record.code, std::nullopt);
    EXPECT_EQ(record.signal, signal);
  }
}

TEST(ShimStart, ReportsThatTheJobRuns) {
  TestRun run("exec sleep 1000");
  const std::string line = run.start();
  const auto status = boost::json::parse(line).as_object();
  EXPECT_EQ(status.at("state"), "running");
  EXPECT_EQ(status.at("shim"), run.shim());
  EXPECT_FALSE(testing::is_gone(static_cast<pid_t>(status.at("pid").as_int64())));
  EXPECT_TRUE(is_shim_running(run.folder()));
  EXPECT_TRUE(was_started(run.folder()));
  EXPECT_EQ((*read_started(run.folder()))->shim, run.shim());
  EXPECT_EQ((*read_started(run.folder()))->tag, run.spec.tag);
  EXPECT_EQ(*read_exit(run.folder()), std::nullopt);
}

struct Mistake {
  const char* name;
  std::vector<std::string> command;
  std::string directory;
  int code;
  const char* reason;
};

TEST(ShimStart, ReportsWhyTheJobCannotBeStarted) {
  os::testing::Folder folder;
  const std::string plain = folder.write("plain", "text");
  const Mistake mistakes[] = {
      {"missing", {"no-such-program"}, "/", 127, "cannot execute 'no-such-program': No such"},
      {"missing path", {"/no/such"}, "/", 127, "Check the command and its PATH."},
      {"plain file", {plain}, "/", 126, "Permission denied"},
      {"folder", {"/tmp"}, "/", 126, "cannot execute '/tmp'"},
      {"no directory", {"true"}, "/no/such/dir", 126, "cannot enter the directory '/no/such/dir'"},
      {"a file", {"true"}, plain, 126, "Not a directory"},
      {"relative", {"true"}, "tmp", 126, "it is not absolute"},
      {"empty", {"true"}, "", 126, "it is not absolute"},
  };
  for (const Mistake& mistake : mistakes) {
    TestRun run(mistake.command);
    run.spec.directory = mistake.directory;
    const std::string ready = run.start();
    EXPECT_THAT(ready, HasSubstr("\"over\"")) << mistake.name;
    const auto record = run.record();
    EXPECT_EQ(record.code, mistake.code) << mistake.name;
    EXPECT_THAT(record.reason, HasSubstr(mistake.reason)) << mistake.name;
  }
}

TEST(ShimStart, GivesTheJobItsEnvironmentAndNoMore) {
  TestRun run(std::vector<std::string>{"/usr/bin/env"});
  ::setenv("TANGRAM_TEST_LEAK", "1", 1);
  run.spec.environment = {{"A", "1"}, {"B", "two words"}, {"TANGRAM_RUN", "forged"}};
  EXPECT_EQ(run.run().code, 0);
  EXPECT_EQ(run.output(), cat("A=1\nB=two words\nTANGRAM_RUN=", run.spec.tag, "\n"));
}

TEST(ShimStart, LooksInTheJobsOwnPath) {
  TestRun run(std::vector<std::string>{"hello"});
  const std::string program = run.base().write("bin/hello", "#!/bin/sh\necho here\n");
  ASSERT_EQ(::chmod(program.c_str(), 0755), 0);
  run.spec.environment["PATH"] = cat("/nowhere:", run.base().at("bin"));
  EXPECT_EQ(run.run().code, 0);
  EXPECT_EQ(run.output(), "here\n");
}

TEST(ShimStart, GivesTheJobItsDirectoryUmaskAndLimits) {
  TestRun run("pwd; umask; ulimit -Sn; ulimit -Hn; ulimit -c; ulimit -Sf");
  run.spec.directory = "/usr/lib";
  run.spec.umask = 027;
  run.spec.resource_limits = {{"nofile", {.soft = 123, .hard = 234}},
                              {"core", {.soft = 0, .hard = 0}}};
  EXPECT_EQ(run.run().code, 0);
  EXPECT_THAT(run.output(), HasSubstr("/usr/lib\n0027\n123\n234\n0\nunlimited\n"));
}

TEST(ShimStart, ReportsWhichLimitCannotBeSet) {
  TestRun unknown("true");
  unknown.spec.resource_limits = {{"core", {}}, {"speed", {.soft = 1, .hard = 1}}};
  auto record = unknown.run();
  EXPECT_EQ(record.code, 126);
  EXPECT_THAT(record.reason, HasSubstr("'speed'"));
  TestRun reversed("true");
  reversed.spec.resource_limits = {{"nofile", {.soft = 2, .hard = 1}}};
  record = reversed.run();
  EXPECT_EQ(record.code, 126);
  EXPECT_THAT(record.reason, HasSubstr("'nofile'"));
}

TEST(ShimStart, ALimitThatLeavesNoMemoryIsReported) {
  TestRun run("true");
  run.spec.resource_limits = {{"as", {.soft = 4'096, .hard = 4'096}}};
  const auto record = run.run();
  EXPECT_TRUE(record.code == 126 || record.signal) << record.reason;
}

TEST(ShimStart, TheJobIsIsolated) {
  // Own session and group, only the three streams open, default signals, none blocked.
  TestRun run(
      "echo $$ $(cut -d' ' -f5,6 /proc/$$/stat); ls /proc/$$/fd | tr '\\n' ' '; "
      "readlink /proc/$$/fd/0; grep -E '^(SigBlk|SigIgn|NoNewPrivs)' /proc/self/status");
  EXPECT_EQ(run.run().code, 0);
  const std::string out = run.output();
  const std::string pid = out.substr(0, out.find(' '));
  EXPECT_THAT(out, HasSubstr(cat(pid, " ", pid, " ", pid, "\n0 1 2 ")));
  EXPECT_THAT(out, HasSubstr("/dev/null"));
  EXPECT_THAT(out, HasSubstr("SigBlk:\t0000000000000000"));
  EXPECT_THAT(out, HasSubstr("SigIgn:\t0000000000000000"));
  EXPECT_THAT(out, HasSubstr("NoNewPrivs:\t1"));
}

TEST(ShimStart, TheShimIsIsolated) {
  TestRun run("exec sleep 1000");
  run.start();
  EXPECT_EQ(::getsid(run.shim()), run.shim());
  const std::string proc = cat("/proc/", run.shim());
  EXPECT_EQ(std::filesystem::read_symlink(proc + "/cwd"), "/");
  for (const char* stream : {"/fd/0", "/fd/1"}) {
    EXPECT_EQ(std::filesystem::read_symlink(proc + stream), "/dev/null");
  }
  EXPECT_EQ(std::filesystem::read_symlink(proc + "/fd/2"), run.folder() + "/shim.log");
}

TEST(ShimStart, WorksWithoutStandardStreamsAndIgnoredChildren) {
  TestRun run("exit 5");
  run.prepare();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(0), ::close(1), ::close(2);
    ::signal(SIGCHLD, SIG_IGN);
    ::execl(TANGRAM_SHIM, TANGRAM_SHIM, run.folder().c_str(), nullptr);
    ::_exit(99);
  }
  EXPECT_EQ(TestRun::wait_for(pid), 0);
  EXPECT_EQ((*read_exit(run.folder()))->code, 5);
}

TEST(ShimStart, RejectsAMissingOrDamagedSpecification) {
  TestRun run("true");
  run.base().write("run/spec.json", "{\"version\":1,");
  EXPECT_EQ(TestRun::wait_for(run.spawn()), static_cast<int>(ShimExit::kBadSpec));
  EXPECT_FALSE(was_started(run.folder()));
  TestRun missing("true");
  EXPECT_EQ(TestRun::wait_for(missing.spawn()), static_cast<int>(ShimExit::kBadSpec));
  EXPECT_EQ(TestRun::wait_for(missing.spawn({"--nonsense"})), static_cast<int>(ShimExit::kUsage));
}

// Before exec(), no program of the job runs that could end gracefully.
TEST(ShimStart, AStopBeforeExecKillsAtOnce) {
  const os::testing::Folder folder;
  const os::testing::BlockedProgram program(folder.at("program"));
  if (!program.is_blocked()) GTEST_SKIP() << "needs file leases";
  TestRun run(std::vector<std::string>{program.path()});
  run.spec.grace = std::chrono::hours(1);
  run.prepare();
  const pid_t shim = run.spawn();
  ASSERT_TRUE(testing::eventually([&] { return run.client().ok(); }));
  auto client = run.client();
  const auto greeting = client.next_with("state");
  ASSERT_TRUE(greeting);
  EXPECT_EQ(greeting->at("state"), "starting");
  client.send(R"({"do":"stop"})");
  EXPECT_EQ(TestRun::wait_for(shim), 0);
  const auto record = read_exit(run.folder());
  ASSERT_TRUE(record && *record);
  EXPECT_EQ((*record)->signal, SIGKILL);
  EXPECT_TRUE((*record)->stopped);
}

// The starter does not wait for exec(): the first line comes before.
TEST(ShimStart, ReportsThatItIsStartingBeforeExec) {
  const os::testing::Folder folder;
  os::testing::BlockedProgram program(folder.at("program"));
  if (!program.is_blocked()) GTEST_SKIP() << "needs file leases";
  TestRun run(std::vector<std::string>{program.path()});
  run.prepare();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, 0), 0);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  const pid_t shim = run.spawn({"--ready-fd", std::to_string(ends[1])});
  ::close(ends[1]);
  std::string lines;
  const auto lines_are = [&](int count) {
    return testing::eventually([&] {
      char buffer[4096];
      const ssize_t size = ::read(ends[0], buffer, sizeof(buffer));
      if (size > 0) lines.append(buffer, static_cast<std::size_t>(size));
      return std::ranges::count(lines, '\n') == count;
    });
  };
  EXPECT_TRUE(lines_are(1));
  EXPECT_THAT(lines, HasSubstr(R"("state":"starting")"));
  EXPECT_TRUE(was_started(run.folder()));
  program.unblock();
  EXPECT_TRUE(lines_are(2));
  EXPECT_THAT(lines, HasSubstr(R"("state":"running")"));
  ::close(ends[0]);
  EXPECT_EQ(TestRun::wait_for(shim), 0);
}

TEST(ShimStart, ToleratesAClosedReadyDescriptor) {
  TestRun run("exit 6");
  run.prepare();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, 0), 0);
  ::close(ends[0]);
  const pid_t pid = run.spawn({"--ready-fd", std::to_string(ends[1])});
  ::close(ends[1]);
  EXPECT_EQ(TestRun::wait_for(pid), 0);
  EXPECT_EQ((*read_exit(run.folder()))->code, 6);
  TestRun closed("exit 7");
  closed.prepare();
  EXPECT_EQ(TestRun::wait_for(closed.spawn({"--ready-fd", "77"})), 0);
  EXPECT_EQ((*read_exit(closed.folder()))->code, 7);
}

}  // namespace
}  // namespace tangram::shim
