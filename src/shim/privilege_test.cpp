// A shim run by root runs jobs as their user without privileges. Needs root; skipped without.
#include <sys/resource.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/shim/run.hpp"

namespace tangram::shim {
namespace {

using ::testing::HasSubstr;
using testing::TestRun;

constexpr std::uint32_t kNobody = 65'534;

class ShimPrivilege : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to run jobs as another user";
  }
  static void as_nobody(TestRun& run) {
    run.spec.user = api::RunSpec::User{.uid = kNobody, .gid = kNobody, .groups = {kNobody, 1'234}};
  }
};

TEST_F(ShimPrivilege, TheJobHasOnlyTheRightsOfItsUser) {
  TestRun run("id -u; id -g; id -G; cat /proc/self/status");
  as_nobody(run);
  EXPECT_EQ(run.run().code, 0);
  const std::string out = run.output();
  EXPECT_THAT(out, HasSubstr("65534\n65534\n65534 1234\n"));
  EXPECT_THAT(out, HasSubstr("Uid:\t65534\t65534\t65534\t65534\n"));
  EXPECT_THAT(out, HasSubstr("NoNewPrivs:\t1\n"));
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    EXPECT_THAT(out, HasSubstr(cat(set, ":\t0000000000000000\n")));
  }
}

TEST_F(ShimPrivilege, SetuidProgramsDoNotRestorePrivileges) {
  TestRun run("");
  const std::string program = run.base().at("id");
  std::filesystem::copy_file("/usr/bin/id", program);
  ASSERT_EQ(::chmod(run.base().at("").c_str(), 0755), 0);
  ASSERT_EQ(::chmod(program.c_str(), 04755), 0);
  run.spec.command = {program, "-u"};
  as_nobody(run);
  EXPECT_EQ(run.run().code, 0);
  EXPECT_EQ(run.output(), "65534\n");
}

TEST_F(ShimPrivilege, TheUserCannotForgeFilesOfTheShim) {
  TestRun run("");
  ASSERT_EQ(::chmod(run.base().at("").c_str(), 0755), 0);
  const std::string folder = run.folder();
  run.spec.command = {"sh", "-c",
                      cat("for f in stdout.log exit started spec.json lock control new; do "
                          "(echo forged > ",
                          folder,
                          "/$f) 2>/dev/null && echo could write $f; done; "
                          "kill -9 $PPID 2>/dev/null && echo could kill; "
                          "echo fine > /dev/stdout; echo also > /dev/stderr")};
  as_nobody(run);
  run.start();
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  EXPECT_EQ(run.record().code, 0);
  EXPECT_EQ(run.output(), "fine\n");
  EXPECT_EQ(run.output("stderr.log"), "also\n");
}

TEST_F(ShimPrivilege, FoldersAndProgramsAreAccessedWithTheUsersRights) {
  TestRun run("true");
  run.spec.directory = run.base().at("");  // 0700, root's
  as_nobody(run);
  const auto record = run.run();
  EXPECT_EQ(record.code, 126);
  EXPECT_THAT(record.reason, HasSubstr("Permission denied"));
  TestRun program("");
  const std::string script = program.base().write("s", "#!/bin/sh\n");
  ASSERT_EQ(::chmod(program.base().at("").c_str(), 0755), 0);
  ASSERT_EQ(::chmod(script.c_str(), 0700), 0);
  program.spec.command = {script};
  as_nobody(program);
  EXPECT_EQ(program.run().code, 126);
}

TEST_F(ShimPrivilege, TheUserCannotExceedTheShimsLimits) {
  struct rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
  TestRun run("true");
  run.spec.resource_limits = {{"nofile", {.soft = 64, .hard = old.rlim_max + 1}}};
  as_nobody(run);
  EXPECT_EQ(run.run().code, 126);
}

TEST_F(ShimPrivilege, TheJobOfAnotherUserDiesWithItsShim) {
  TestRun run("exec sleep 1000");
  as_nobody(run);
  const std::string line = run.start();
  const auto pid = static_cast<pid_t>(boost::json::parse(line).at("pid").as_int64());
  ::kill(run.shim(), SIGKILL);
  ::waitpid(run.shim(), nullptr, 0);
  run.forget_shim();
  EXPECT_TRUE(testing::eventually([&] { return testing::is_gone(pid); }));
}

TEST_F(ShimPrivilege, NamesProcessesThatCannotBeSignalled) {
  TestRun run("exec sleep 1000");
  run.start();
  // As a user who may list root's process but not signal it: found as a descendant, not by its tag.
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::setresuid(kNobody, kNobody, kNobody) != 0) ::_exit(1);
    const auto killed = kill_all({.shim = run.shim()}, std::chrono::milliseconds(50));
    const bool is_named = !killed.all_gone && killed.remaining.size() == 1 &&
                          killed.remaining[0].reason == "Operation not permitted";
    ::_exit(is_named ? 0 : 2);
  }
  EXPECT_EQ(TestRun::wait_for(pid), 0);
  EXPECT_EQ(testing::live_processes({.tag = run.spec.tag}).size(), 1U);
}

}  // namespace
}  // namespace tangram::shim
