// What one plain user can reach of another's job on a real node: nothing. Both are really other
// users than the daemon: "daemon" (uid 1) has the job, "nobody" attacks.
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <memory>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"
#include "other_user.hpp"
#include "tests/support/os/hung_mount.hpp"

namespace tangram::tests {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr uid_t kVictim = 1;

// Calls `attempt` as the other user for each subject; returns those for which it succeeded.
template <class Subject>
std::vector<Subject> succeeds_as(uid_t uid, const std::vector<Subject>& subjects,
                                 const std::function<bool(const Subject&)>& attempt) {
  std::vector<Subject> succeeded;
  for (const Subject& subject : subjects) {
    const pid_t child = ::fork();
    if (child == 0) {
      const bool is_other = ::setgid(uid) == 0 && ::setuid(uid) == 0;
      ::_exit(is_other ? (attempt(subject) ? 1 : 0) : 2);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2) << subject;
    if (WEXITSTATUS(status) == 1) succeeded.push_back(subject);
  }
  return succeeded;
}

class TwoUsers : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to act as two users";
    node_.start();
    allow_other_users(node_);
  }
  std::uint64_t submit_as(uid_t uid, const std::string& script, const json::object& more = {}) {
    const auto answer =
        call_as(uid, node_, "POST", "/v1/jobs", node_.job_request("1g.5gb", script, more));
    EXPECT_EQ(answer.first, 201) << answer.second;
    return answer.first == 201 ? answer.second.at("id").to_number<std::uint64_t>() : 0;
  }
  Node node_{{.emulate = "2xA100-40GB"}};
};

TEST_F(TwoUsers, NoFileOfARunCanBeReadOrWritten) {
  const auto job = submit_as(kVictim, "echo secret; echo x > $TANGRAM_CHECKPOINT/model; sleep 1000",
                             {{"move", {{"way", "checkpoint"}}}});
  node_.await(job, "running");
  eventually("it has printed", [&] { return node_.output(job) == "secret\n"; });
  std::vector<std::string> paths;
  for (const auto& each : fs::recursive_directory_iterator(node_.state_dir())) {
    if (each.path().filename() != "emulated-node") paths.push_back(each.path().string());
  }
  ASSERT_GT(paths.size(), 10U);
  const auto opened = succeeds_as<std::string>(kNobody, paths, [](const std::string& path) {
    return ::open(path.c_str(), O_RDONLY | O_NONBLOCK) >= 0 ||
           ::open(path.c_str(), O_WRONLY | O_NONBLOCK) >= 0 || ::unlink(path.c_str()) == 0;
  });
  EXPECT_EQ(opened, std::vector<std::string>());
}

TEST_F(TwoUsers, NoProcessOfARunCanBeSignalledOrInspected) {
  const auto job =
      submit_as(kVictim, "sleep 1000", {{"kind", "service"}, {"probe", {{"kind", "none"}}}});
  node_.await(job, "running");
  eventually("its endpoint runs", [&] { return !node_.endpoints().empty(); });
  std::vector<pid_t> processes = node_.run_processes();
  for (const pid_t pid : node_.shims()) processes.push_back(pid);
  for (const pid_t pid : node_.endpoints()) processes.push_back(pid);
  processes.push_back(node_.pid());
  ASSERT_GE(processes.size(), 4U);
  const auto reached = succeeds_as<pid_t>(kNobody, processes, [](const pid_t& pid) {
    const auto opens = [&](const char* file) {
      return ::open(cat("/proc/", pid, "/", file).c_str(), O_RDONLY) >= 0;
    };
    return ::kill(pid, SIGSTOP) == 0 || opens("environ") || opens("mem") || opens("fd");
  });
  EXPECT_EQ(reached, std::vector<pid_t>());
  // Its own user may signal the processes of the job, but not inspect or signal what guards them.
  std::vector<pid_t> guards = node_.shims();
  guards.push_back(node_.pid());
  const auto stopped = succeeds_as<pid_t>(
      kVictim, guards, [](const pid_t& pid) { return ::kill(pid, SIGSTOP) == 0; });
  EXPECT_EQ(stopped, std::vector<pid_t>());
  const auto inspected = succeeds_as<pid_t>(kVictim, node_.endpoints(), [](const pid_t& pid) {
    return ::open(cat("/proc/", pid, "/fd").c_str(), O_RDONLY) >= 0;
  });
  EXPECT_EQ(inspected, std::vector<pid_t>());
}

// More jobs than there are threads that start jobs; each blocks before its program is executed.
TEST_F(TwoUsers, DirectoriesThatHangDelayNoStartOfOthers) {
  fs::create_directory(node_.at("hung"));
  const os::testing::HungMount mount(node_.at("hung"), kNobody);
  if (!mount.is_mounted()) GTEST_SKIP() << "needs FUSE, to mount what hangs";
  for (int i = 0; i < 6; ++i) submit_as(kNobody, "true", {{"directory", node_.at("hung")}});
  eventually("the jobs are starting",
             [&] { return node_.call("GET", "/v1/jobs?state=starting").as_array().size() == 6; });
  node_.await(submit_as(kVictim, "true"), "completed", std::chrono::seconds(5));
}

}  // namespace
}  // namespace tangram::tests
