// What the job does not inherit from the daemon through the shim: its session keyring, its OOM
// score and its scheduling. The shim itself keeps them.
#include <fstream>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/os/keyring.hpp"
#include "tests/support/shim/run.hpp"

namespace tangram::shim {
namespace {

using os::testing::refuse_keyctl;
using testing::Client;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TestRun;

constexpr std::uint32_t kNobody = 65'534;
constexpr int kIdleIo = 3 << 13;  // IOPRIO_CLASS_IDLE

bool set_oom_score(int value) {
  std::ofstream file("/proc/self/oom_score_adj");
  file << value << std::flush;
  return file.good();
}

int oom_score_of(pid_t pid) {
  std::ifstream file(cat("/proc/", pid, "/oom_score_adj"));
  int value = -9'999;
  file >> value;
  return value;
}

long io_priority_of(pid_t pid) { return ::syscall(SYS_ioprio_get, 1, pid); }

int cpus_of(pid_t pid) {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(pid, sizeof set, &set) == 0 ? CPU_COUNT(&set) : -1;
}

void stay_on_one_cpu() {
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(static_cast<unsigned>(::sched_getcpu()), &first);
  ::sched_setaffinity(0, sizeof first, &first);
}

// Whether `is_true` holds in a child process, which it may change.
bool in_child(const std::function<bool()>& is_true) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(is_true() ? 0 : 1);
  return TestRun::wait_for(pid) == 0;
}

// Starts the run. Returns the pid of the job.
pid_t start_job(TestRun& run) {
  const auto line = boost::json::parse(run.start()).as_object();
  EXPECT_EQ(line.at("state"), "running");
  return static_cast<pid_t>(line.at("pid").as_int64());
}

std::string probe(const TestRun& run) {
  Client client = run.client();
  client.send(R"({"do":"probe","id":1})");
  const auto answer = client.next_with("probe");
  return answer ? std::string(answer->at("detail").as_string()) : "no answer";
}

std::size_t count_of(std::string_view text, const std::string& in) {
  std::size_t count = 0;
  for (auto at = in.find(text); at != std::string::npos; at = in.find(text, at + 1)) ++count;
  return count;
}

void run_as(TestRun& run, std::uint32_t uid) {
  run.spec.user = api::RunSpec::User{.uid = uid, .gid = uid, .groups = {uid}};
}

TEST(ShimInheritance, TheJobHasTheDefaultOomScore) {
  if (!in_child([] { return set_oom_score(300) && set_oom_score(0); })) {
    GTEST_SKIP() << "needs an OOM score that may be set to 300 and back to 0";
  }
  TestRun run("exec sleep 1000");
  run.spec.probe_command = {"cat", "/proc/self/oom_score_adj"};
  run.before_shim = [] { set_oom_score(300); };
  EXPECT_EQ(oom_score_of(start_job(run)), 0);
  EXPECT_EQ(probe(run), "0");
  EXPECT_EQ(oom_score_of(run.shim()), 300);
}

TEST(ShimInheritance, TheJobHasTheDefaultSchedulingAndIoPriority) {
  TestRun run("exec sleep 1000");
  run.before_shim = [] {
    const sched_param none{};
    ::sched_setscheduler(0, SCHED_BATCH, &none);
    ::syscall(SYS_ioprio_set, 1, 0, kIdleIo);
  };
  const pid_t job = start_job(run);
  EXPECT_EQ(::sched_getscheduler(job), SCHED_OTHER);
  EXPECT_NE(io_priority_of(job), kIdleIo);
  EXPECT_EQ(::sched_getscheduler(run.shim()), SCHED_BATCH);
  EXPECT_EQ(io_priority_of(run.shim()), kIdleIo);
  EXPECT_EQ(run.output("shim.log"), "");
}

TEST(ShimInheritance, TheJobMayUseAllCpus) {
  const int all = cpus_of(0);
  if (all < 2) GTEST_SKIP() << "needs a second CPU";
  TestRun run("exec sleep 1000");
  run.before_shim = stay_on_one_cpu;
  EXPECT_GE(cpus_of(start_job(run)), all);
  EXPECT_EQ(cpus_of(run.shim()), 1);
}

TEST(ShimInheritance, TheJobHasTheDefaultNiceness) {
  const auto can_lower = [] {
    return ::setpriority(PRIO_PROCESS, 0, 5) == 0 && ::setpriority(PRIO_PROCESS, 0, 0) == 0;
  };
  if (!in_child(can_lower)) GTEST_SKIP() << "needs CAP_SYS_NICE, to lower the niceness";
  TestRun run("exec sleep 1000");
  run.before_shim = [] { ::setpriority(PRIO_PROCESS, 0, 5); };
  EXPECT_EQ(::getpriority(PRIO_PROCESS, static_cast<id_t>(start_job(run))), 0);
  EXPECT_EQ(::getpriority(PRIO_PROCESS, static_cast<id_t>(run.shim())), 5);
}

TEST(ShimInheritance, WhatCannotBeResetIsLoggedOnceAndTheJobRuns) {
  TestRun run("exec sleep 1000");
  run.spec.probe_command = {"nice"};
  run.before_shim = [] {
    const rlimit none{};
    ::setpriority(PRIO_PROCESS, 0, 5);
    ::setrlimit(RLIMIT_NICE, &none);
    ::prctl(PR_CAPBSET_DROP, CAP_SYS_NICE, 0, 0, 0);
  };
  EXPECT_EQ(::getpriority(PRIO_PROCESS, static_cast<id_t>(start_job(run))), 5);
  EXPECT_EQ(probe(run), "5");
  EXPECT_EQ(count_of("cannot reset the niceness inherited from the daemon: Permission denied",
                     run.output("shim.log")),
            1U);
}

// Jobs and the daemon's session keyring. This process is the daemon, with a keyring that has a key.
class ShimKeyring : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!os::testing::join_session_keyring()) GTEST_SKIP() << "this machine has no keyrings";
    key_ = os::testing::add_session_key("tangram-test", "daemon-secret");
    ASSERT_GT(key_, 0);
  }
  // Starts a run that adds a key to its session keyring and goes on. Returns the key.
  static long start_with_key(TestRun& run) {
    run.start();
    EXPECT_TRUE(run.prints("\n")) << run.output("stderr.log");
    return std::strtol(run.output().c_str(), nullptr, 10);
  }
  static std::string adding_script() {
    return os::testing::add_key_script("tangram-test-job", "job-secret") + "exec sleep 1000";
  }
  // Starts a run under a filter that fails keyctl() with `error`.
  static std::string start_refused(TestRun& run, int error) {
    run.before_shim = [error] {
      if (!refuse_keyctl(error)) ::_exit(98);
    };
    return run.start();
  }

  long key_ = 0;
};

TEST_F(ShimKeyring, TheJobCannotReadTheDaemonsKeys) {
  const std::string script = os::testing::print_key_script(key_);
  ASSERT_EQ(os::testing::read_key(key_), "daemon-secret");
  TestRun run(script + "exec sleep 1000");
  run.spec.probe_command = {"sh", "-c", script};
  run.start();
  EXPECT_TRUE(run.prints("\n"));
  EXPECT_EQ(run.output(), cat("errno ", EACCES, "\n"));
  EXPECT_EQ(probe(run), cat("errno ", EACCES));
  EXPECT_EQ(run.output("shim.log"), "");
}

TEST_F(ShimKeyring, JobsDoNotShareKeys) {
  TestRun first(adding_script());
  const long key = start_with_key(first);
  ASSERT_GT(key, 0);
  TestRun second(os::testing::print_key_script(key));
  EXPECT_EQ(second.run().code, 0);
  EXPECT_EQ(second.output(), cat("errno ", EACCES, "\n"));
}

TEST_F(ShimKeyring, JobsOfTwoUsersDoNotShareKeysAndEachMayUseItsOwn) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to run jobs as other users";
  TestRun first(adding_script());
  run_as(first, kNobody);
  const long key = start_with_key(first);
  ASSERT_GT(key, 0);
  TestRun second(os::testing::print_key_script(key));
  run_as(second, kNobody - 1);
  EXPECT_EQ(second.run().code, 0);
  EXPECT_EQ(second.output(), cat("errno ", EACCES, "\n"));
}

TEST_F(ShimKeyring, WithoutKeyctlTheJobRunsAndTheShimLogsItOnce) {
  for (const int error : {ENOSYS, EPERM}) {
    TestRun run("exec sleep 1000");
    run.spec.probe_command = {"echo", "probed"};
    EXPECT_THAT(start_refused(run, error), HasSubstr("\"running\""));
    EXPECT_EQ(probe(run), "probed");
    EXPECT_EQ(count_of("session keyring", run.output("shim.log")), 1U) << run.output("shim.log");
  }
}

TEST_F(ShimKeyring, AtTheQuotaTheJobOfTheShimsUserRuns) {
  TestRun run("exit 3");
  start_refused(run, EDQUOT);
  EXPECT_EQ(run.record().code, 3);
  EXPECT_THAT(run.output("shim.log"), HasSubstr("quota"));
}

TEST_F(ShimKeyring, AtTheQuotaTheJobOfAnotherUserIsNotStarted) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to run jobs as another user";
  TestRun run("echo started");
  run_as(run, kNobody);
  start_refused(run, EDQUOT);
  const auto record = run.record();
  EXPECT_EQ(record.code, 126);
  EXPECT_THAT(record.reason, HasSubstr("cannot create a session keyring for the job: Disk quota"));
  EXPECT_THAT(run.output(), Not(HasSubstr("started")));
}

TEST_F(ShimKeyring, AnyOtherFailureIsReportedAndNothingRuns) {
  TestRun run("echo started");
  start_refused(run, ENOMEM);
  const auto record = run.record();
  EXPECT_EQ(record.code, 126);
  EXPECT_THAT(record.reason, HasSubstr("cannot create a session keyring for the job: "));
  EXPECT_EQ(run.output(), "");
}

}  // namespace
}  // namespace tangram::shim
