// The PAM session around a run, with real modules and service files of the test. Needs root and the
// modules of Linux-PAM; skipped without.
#include <fstream>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/shim/run.hpp"

namespace tangram::shim {
namespace {

using os::testing::eventually;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TestRun;

constexpr std::uint32_t kNobody = 65'534;

class ShimPam : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to open PAM sessions";
    if (!has_module("pam_permit.so")) GTEST_SKIP() << "the modules of PAM are not installed";
  }
  static bool has_module(const std::string& name) {
    for (const char* folder : {"/lib/x86_64-linux-gnu/security/", "/lib/security/",
                               "/usr/lib64/security/", "/lib/aarch64-linux-gnu/security/"}) {
      if (std::ifstream(folder + name).good()) return true;
    }
    return false;
  }
  // Makes the run one of "nobody" with a session of the service file `text`, in which @ stands for
  // the folder of the test.
  static void use_service(TestRun& run, const std::string& text) {
    std::string service = "auth required pam_permit.so\n" + text;
    for (std::size_t at = 0; (at = service.find('@', at)) != std::string::npos;) {
      service.replace(at, 1, run.base().at(""));
    }
    run.base().write("pam.d/tangram", service);
    run.spec.user = api::RunSpec::User{.uid = kNobody, .gid = kNobody, .groups = {kNobody}};
    run.spec.pam = api::RunSpec::Pam{.user = "nobody", .folder = run.base().at("pam.d")};
  }
  // Writes a script that notes in the file "calls" what PAM calls it for.
  static void write_recorder(TestRun& run, const std::string& more = "") {
    const std::string script = run.base().at("recorder");
    run.base().write("recorder", cat("#!/bin/sh\necho $PAM_TYPE $PAM_USER $PAM_SERVICE >> ",
                                     run.base().at("calls"), "\n", more));
    EXPECT_EQ(::chmod(script.c_str(), 0755), 0);
  }
  static std::vector<std::string> calls(const TestRun& run) {
    std::ifstream file(run.base().at("calls"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
};

TEST_F(ShimPam, OpensASessionBeforeTheJobAndClosesItAfterwards) {
  TestRun run("");
  write_recorder(run);
  use_service(run,
              "account required pam_permit.so\nsession required pam_exec.so quiet @recorder\n");
  ASSERT_EQ(::chmod(run.base().at("").c_str(), 0777), 0);
  run.base().write("calls", "");
  ASSERT_EQ(::chmod(run.base().at("calls").c_str(), 0666), 0);
  run.spec.command = {"sh", "-c", "echo job >> " + run.base().at("calls")};
  const auto record = run.run();
  EXPECT_EQ(record.code, 0) << record.reason << run.output("shim.log");
  EXPECT_THAT(calls(run),
              ElementsAre("open_session nobody tangram", "job", "close_session nobody tangram"));
}

TEST_F(ShimPam, ClosesTheSessionAlsoWhenTheShimIsKilled) {
  TestRun run("sleep 1000");
  write_recorder(run);
  use_service(run,
              "account required pam_permit.so\nsession required pam_exec.so quiet @recorder\n");
  run.start();
  ::kill(run.shim(), SIGKILL);
  run.wait();
  EXPECT_TRUE(eventually([&] { return calls(run).size() == 2; }));
  EXPECT_EQ(calls(run).back(), "close_session nobody tangram");
}

TEST_F(ShimPam, GivesTheJobItsVariables) {
  TestRun run("echo [$FROM_PAM] [$TANGRAM_GPU] [$LANG] [$OWN]");
  run.base().write("pam_env.conf",
                   "FROM_PAM DEFAULT=yes\nLANG DEFAULT=C.UTF-8\nTANGRAM_GPU DEFAULT=9\n");
  use_service(run,
              "account required pam_permit.so\n"
              "session required pam_env.so conffile=@pam_env.conf readenv=0 user_readenv=0\n");
  run.spec.environment["LANG"] = "of the request";
  run.spec.environment["OWN"] = "kept";
  run.spec.environment["TANGRAM_GPU"] = "1";
  const auto record = run.run();
  EXPECT_EQ(record.code, 0) << record.reason << run.output("shim.log");
  EXPECT_EQ(run.output(), "[yes] [1] [C.UTF-8] [kept]\n");
}

TEST_F(ShimPam, SetsLimitsOfTheJobOnly) {
  TestRun run("ulimit -Sn; ulimit -Hn; ulimit -Sc; sleep 1000");
  run.base().write("limits.conf", "* soft nofile 100\n* hard nofile 123\n* - core 0\n");
  use_service(run,
              "account required pam_permit.so\nsession required pam_limits.so conf=@limits.conf\n");
  run.start();
  EXPECT_TRUE(run.prints("100\n123\n0\n")) << run.output() << run.output("shim.log");
  std::ifstream file(cat("/proc/", run.shim(), "/limits"));
  const std::string limits{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(limits, AllOf(HasSubstr("Max open files"),
                            ::testing::Not(::testing::ContainsRegex("open files +100 +123"))));
  run.client().send(R"({"do":"stop","grace_ms":0})");
  run.record();
}

// What the job itself requests may be lower than the session's limits, not higher.
TEST_F(ShimPam, LimitsOfTheRequestMustNotExceedThoseOfTheSession) {
  for (const std::uint64_t requested : {50, 200}) {
    TestRun run("ulimit -n");
    run.base().write("limits.conf", "* hard nofile 123\n");
    use_service(
        run, "account required pam_permit.so\nsession required pam_limits.so conf=@limits.conf\n");
    run.spec.resource_limits["nofile"] = {.soft = requested, .hard = requested};
    const auto record = run.run();
    if (requested == 50) {
      EXPECT_EQ(run.output(), "50\n") << record.reason;
    } else {
      EXPECT_EQ(record.code, 126);
      EXPECT_THAT(record.reason, HasSubstr("nofile"));
    }
  }
}

TEST_F(ShimPam, AnAccountThatIsDeniedRunsNothing) {
  TestRun run("echo ran");
  write_recorder(run);
  use_service(run, "account required pam_deny.so\nsession required pam_exec.so quiet @recorder\n");
  const auto record = run.run();
  EXPECT_EQ(record.code, 126);
  EXPECT_THAT(record.reason, AllOf(HasSubstr("PAM does not permit the job: pam_acct_mgmt: "),
                                   HasSubstr("See the PAM service \"tangram\".")));
  EXPECT_EQ(run.output(), "");
  EXPECT_THAT(calls(run), ElementsAre());
}

TEST_F(ShimPam, ASessionThatIsDeniedRunsNothing) {
  TestRun run("echo ran");
  use_service(run, "account required pam_permit.so\nsession required pam_deny.so\n");
  const auto record = run.run();
  EXPECT_EQ(record.code, 126);
  EXPECT_THAT(record.reason, HasSubstr("PAM does not permit the job: pam_open_session: "));
  EXPECT_EQ(run.output(), "");
}

TEST_F(ShimPam, AModuleThatHangsCanBeStopped) {
  TestRun run("echo ran");
  write_recorder(run, "[ $PAM_TYPE = close_session ] || sleep 30");
  use_service(run,
              "account required pam_permit.so\nsession required pam_exec.so quiet @recorder\n");
  run.prepare();
  const pid_t shim = run.spawn();
  EXPECT_TRUE(eventually([&] { return calls(run).size() == 1; }));
  run.client().send(R"({"do":"stop","grace_ms":0})");
  EXPECT_EQ(TestRun::wait_for(shim), 0);
  const auto record = read_exit(run.folder());
  ASSERT_TRUE(record && *record);
  EXPECT_EQ((*record)->code, 126);
  EXPECT_EQ((*record)->reason, "stopped while its PAM session was being opened.");
}

}  // namespace
}  // namespace tangram::shim
