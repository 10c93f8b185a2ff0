// Which processes count as a run's: those of its user with its mark, never those of other users
// that have a copy of it; and a listing that fails is not taken for an empty one.
#include <algorithm>
#include <sys/resource.h>

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
using testing::live_processes;
using ::testing::MatchesRegex;
using testing::TestRun;

constexpr uid_t kNobody = 65'534;
constexpr uid_t kOther = 2;  // the user bin

// A process of another user that has copied the mark of a run.
class Forger {
 public:
  explicit Forger(const std::string& tag) : variable_(cat("TANGRAM_RUN=", tag)) {
    pid_ = ::fork();
    if (pid_ != 0) {
      EXPECT_TRUE(
          eventually([&] { return has_variable(pid_, kOther, variable_).value_or(false); }));
      return;
    }
    char* const arguments[] = {const_cast<char*>("sleep"), const_cast<char*>("1000"), nullptr};
    char* const variables[] = {variable_.data(), nullptr};
    if (::setresuid(kOther, kOther, kOther) == 0) ::execve("/bin/sleep", arguments, variables);
    ::_exit(1);
  }
  ~Forger() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Forger(const Forger&) = delete;
  Forger& operator=(const Forger&) = delete;
  Forger(Forger&&) = delete;
  Forger& operator=(Forger&&) = delete;

  [[nodiscard]] bool is_alive() const { return !is_gone(pid_); }
  [[nodiscard]] bool is_stopped() const { return find_process(pid_)->stopped; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const std::string& variable() const { return variable_; }

 private:
  std::string variable_;
  pid_t pid_ = -1;
};

class ShimCopiedMark : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to run processes as two other users";
  }
  static void as_nobody(TestRun& run) {
    run.spec.user = api::RunSpec::User{.uid = kNobody, .gid = kNobody, .groups = {}};
  }
};

TEST_F(ShimCopiedMark, NeitherKeepsTheRunAliveNorIsKilledByItsEnd) {
  TestRun run("sleep 1000 & exit 3");
  as_nobody(run);
  const Forger forger(run.spec.tag);
  EXPECT_EQ(run.run().code, 3);
  EXPECT_TRUE(forger.is_alive());
  EXPECT_TRUE(live_processes({.tag = run.spec.tag, .uid = kNobody}).empty());
}

TEST_F(ShimCopiedMark, IsNotFrozen) {
  TestRun run("echo up; exec sleep 1000");
  as_nobody(run);
  run.start();
  const Forger forger(run.spec.tag);
  auto client = run.client();
  client.send(R"({"do":"freeze","id":1})");
  const auto answer = client.next_with("done");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at("ok"), true);
  EXPECT_FALSE(forger.is_stopped());
  const auto frozen = live_processes({.tag = run.spec.tag, .uid = kNobody});
  ASSERT_EQ(frozen.size(), 1U);
  EXPECT_TRUE(frozen[0].stopped);
}

TEST_F(ShimCopiedMark, IsNotKilledWithTheRunOfALostShim) {
  TestRun run("");
  ASSERT_EQ(::chmod(run.base().at("").c_str(), 0777), 0);
  run.spec.command = {"sh", "-c",
                      cat("setsid sleep 1000 & echo $! > ", run.base().at("left"), "; sleep 1000")};
  as_nobody(run);
  run.start();
  const pid_t left = run.pid_in("left");
  const Forger forger(run.spec.tag);
  ::kill(run.shim(), SIGKILL);
  ::waitpid(run.shim(), nullptr, 0);
  run.forget_shim();
  const auto mark = read_mark(run.folder());
  ASSERT_TRUE(mark) << mark.error().message;
  EXPECT_EQ(mark->uid, kNobody);
  EXPECT_FALSE(is_gone(left));
  EXPECT_TRUE(kill_all(*mark, seconds(20)).all_gone);
  EXPECT_TRUE(is_gone(left));
  EXPECT_TRUE(forger.is_alive());
}

TEST_F(ShimCopiedMark, TheEnvironmentCountsForProcessesOfTheUserOnly) {
  const Forger forger("a/b");
  EXPECT_EQ(has_variable(forger.pid(), kOther, forger.variable()), true);
  EXPECT_EQ(has_variable(forger.pid(), kOther, "TANGRAM_RUN=a"), false);
  EXPECT_EQ(has_variable(forger.pid(), kNobody, forger.variable()), false);
  EXPECT_EQ(has_variable(forger.pid(), 0, forger.variable()), false);
}

// Its processes cannot leave a cgroup that is not their user's, so that tells all of them.
TEST_F(ShimCopiedMark, EnvironmentsAreNotReadIfTheRunHasACgroup) {
  TestRun run("exec sleep 1000");
  as_nobody(run);
  const std::string line = run.start();
  const auto pid = boost::json::parse(line).at("pid").as_int64();
  const std::string cgroup = run.base().at("cgroup");
  const RunMark mark{.tag = run.spec.tag, .uid = kNobody, .cgroup = cgroup};
  EXPECT_EQ(live_processes(mark).size(), 1U);  // by its tag: there is no cgroup
  run.base().write("cgroup/cgroup.procs", cat(pid, "\n"));
  EXPECT_EQ(live_processes(mark).size(), 1U);
  run.base().write("cgroup/cgroup.procs", "");
  EXPECT_TRUE(live_processes(mark).empty());
  ASSERT_EQ(::chown(cgroup.c_str(), kNobody, kNobody), 0);
  EXPECT_EQ(live_processes(mark).size(), 1U);  // it could leave that one
  std::filesystem::remove(cgroup + "/cgroup.procs");
  EXPECT_FALSE(processes_of(mark));  // cannot tell
}

TEST(ShimRunMark, TagsAreRandom) {
  const auto one = make_tag();
  const auto other = make_tag();
  ASSERT_TRUE(one && other);
  EXPECT_THAT(*one, MatchesRegex("[0-9a-f]{32}"));
  EXPECT_NE(*one, *other);
}

TEST(ShimRunMark, IsReadFromTheFolder) {
  TestRun run("exec sleep 1000");
  run.spec.tag = cat("node/7-", ::getpid());  // as older versions made them
  run.start();
  const auto mark = read_mark(run.folder());
  ASSERT_TRUE(mark) << mark.error().message;
  EXPECT_EQ(mark->tag, run.spec.tag);
  EXPECT_EQ(mark->uid, ::geteuid());
  EXPECT_EQ(live_processes(*mark).size(), 1U);
  // A later attempt to start it has written another specification.
  const std::string text = run.base().read("run/spec.json");
  std::string other = text;
  other.replace(other.find(run.spec.tag), run.spec.tag.size(), "other");
  run.base().write("run/spec.json", other);
  EXPECT_EQ(read_mark(run.folder())->tag, run.spec.tag);
  run.base().write("run/spec.json", "{");
  EXPECT_EQ(read_mark(run.folder()).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(read_mark(run.base().at("none")).error().code, ErrorCode::kNotFound);
}

// What `what` returns in a child process that can open no file.
int without_descriptors(const std::function<int()>& what) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 0;
    ::_exit(::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? what() : 99);
  }
  return TestRun::wait_for(pid).value_or(-1);
}

TEST(Processes, AListingThatFailsIsNotEmpty) {
  TestRun run("exec sleep 1000");
  run.start();
  const RunMark mark{.tag = run.spec.tag};
  const auto check = [&] {
    if (all_processes()) return 1;
    if (processes_of(mark)) return 2;
    if (signal_all(mark, SIGCONT) || kill_round(mark)) return 3;
    const KillResult killed = kill_all(mark, milliseconds(30));
    if (killed.all_gone) return 4;
    return killed.problem.contains("Too many open files") ? 0 : 5;
  };
  EXPECT_EQ(without_descriptors(check), 0);
  EXPECT_EQ(live_processes(mark).size(), 1U);
}

// Lets a process open no more files.
class OutOfDescriptors {
 public:
  explicit OutOfDescriptors(pid_t pid) : pid_(pid) {
    EXPECT_EQ(::prlimit(pid_, RLIMIT_NOFILE, nullptr, &before_), 0);
    rlimit limit = before_;
    limit.rlim_cur = 0;  // the lowest descriptor that it has free
    while (std::filesystem::is_symlink(cat("/proc/", pid_, "/fd/", limit.rlim_cur))) {
      ++limit.rlim_cur;
    }
    EXPECT_GE(limit.rlim_cur, 8U);  // poll() may watch as many
    EXPECT_EQ(::prlimit(pid_, RLIMIT_NOFILE, &limit, nullptr), 0);
  }
  void lift() const { EXPECT_EQ(::prlimit(pid_, RLIMIT_NOFILE, &before_, nullptr), 0); }

 private:
  pid_t pid_;
  rlimit before_{};
};

// The shim can open no more files: it neither confirms the freeze nor gives it up.
TEST(ShimFreezer, WaitsWhileProcessesCannotBeListed) {
  TestRun run("echo up; while :; do sleep 0.005; done");
  run.start();
  ASSERT_TRUE(run.prints("up"));
  auto client = run.client();
  ASSERT_TRUE(client.reaches("running"));
  const OutOfDescriptors limit(run.shim());
  client.send(R"({"do":"freeze","id":1})");
  EXPECT_TRUE(eventually([&] {
    return run.output("shim.log").find("cannot freeze the run yet: cannot list") !=
           std::string::npos;
  }));
  limit.lift();
  const auto answer = client.next_with("done");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at("ok"), true) << answer->at("detail");
  for (const Process& process : live_processes({.tag = run.spec.tag})) {
    EXPECT_TRUE(process.stopped || process.uninterruptible) << process.pid;
  }
}

// The end of a run is not reported either, nor is what the job left forgotten.
TEST(ShimEnd, WaitsWhileProcessesCannotBeListed) {
  TestRun run("");
  run.spec.command = {"sh", "-c",
                      cat("cd ", run.base().at(""),
                          "; setsid sh -c 'echo $$ > left; exec sleep 1000' & echo up; "
                          "while [ ! -e go ]; do sleep 0.01; done; exit 4")};
  run.start();
  ASSERT_TRUE(run.prints("up"));
  const pid_t left = run.pid_in("left");
  auto client = run.client();
  ASSERT_TRUE(client.reaches("running"));
  const OutOfDescriptors limit(run.shim());
  run.base().write("go", "");
  EXPECT_TRUE(eventually([&] {
    return run.output("shim.log").find("cannot tell yet whether the run's processes are gone") !=
           std::string::npos;
  }));
  EXPECT_FALSE(is_gone(left));
  limit.lift();
  EXPECT_EQ(run.record().code, 4);
  EXPECT_TRUE(is_gone(left));
}

}  // namespace
}  // namespace tangram::shim
