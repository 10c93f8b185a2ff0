// `tangram submit`, `submit --wait` and `wait` while the daemon is restarted, and their exit codes
// when Tangram itself fails. The daemon is stopped at a point at which the verb depends on it.
#include <filesystem>

#include <boost/json/array.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "background_process.hpp"
#include "base/text.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class WaitCli : public ::testing::Test {
 protected:
  WaitCli() { node_.start(); }
  std::unique_ptr<BackgroundProcess> start(std::vector<std::string> words) {
    words.insert(words.begin(), TANGRAM_BINARY);
    return std::make_unique<BackgroundProcess>(
        words, std::vector<std::string>{cat("TANGRAM_SOCKET=", node_.socket())});
  }
  // Starts a verb and returns once it is connected: it has a socket, and the daemon has served a
  // request since.
  std::unique_ptr<BackgroundProcess> start_waiting(const std::vector<std::string>& words) {
    auto verb = start(words);
    eventually("it is connected", [&] { return has_socket(verb->pid()); });
    node_.call("GET", "/v1/status");
    return verb;
  }
  static bool has_socket(pid_t pid) {
    std::error_code gone;
    for (const auto& each : std::filesystem::directory_iterator(cat("/proc/", pid, "/fd"), gone)) {
      if (std::filesystem::read_symlink(each, gone).string().starts_with("socket:")) return true;
    }
    return false;
  }
  [[nodiscard]] std::string until_file() const {
    return cat("while [ ! -e ", node_.at("go"), " ]; do sleep 0.02; done; exit 3");
  }
  void end_job() const { node_.folder().write("go", ""); }
  std::string fails(const std::vector<std::string>& words) {
    int code = 0;
    std::string text = node_.tangram(words, &code);
    EXPECT_EQ(code, 125) << text;
    return text;
  }

  Node node_{{.emulate = "1xA100-40GB"}};
};

TEST_F(WaitCli, WaitSurvivesARestart) {
  const auto job = node_.submit("1g.5gb", until_file());
  node_.await(job, "running");
  const auto wait = start_waiting({"wait", std::to_string(job)});
  node_.kill();
  end_job();
  node_.start();
  EXPECT_EQ(wait->wait(), 3) << wait->err();
  EXPECT_EQ(wait->err(), "");
}

TEST_F(WaitCli, SubmitWithWaitSurvivesARestart) {
  const auto submit =
      start({"submit", "--wait", "-p", "1g.5gb", "--", "/bin/sh", "-c", until_file()});
  eventually("it is submitted", [&] { return submit->out() == "job 1 submitted\n"; });
  node_.await(1, "running");
  node_.kill();
  node_.start();
  end_job();
  EXPECT_EQ(submit->wait(), 3) << submit->err();
  EXPECT_EQ(submit->err(), "");
}

// The daemon crashes when the job is durable but not acknowledged: the client repeats the request.
TEST_F(WaitCli, AnUnacknowledgedSubmissionIsRepeatedAndMakesOneJob) {
  node_.stop();
  node_.use_environment(
      {"TANGRAM_EMULATOR_LATENCY=0", "TANGRAM_CRASH_POINT=committed:job-submitted"});
  node_.start();
  const auto submit = start({"submit", "-p", "1g.5gb", "--", "/bin/true"});
  node_.await_crash();
  node_.use_environment({"TANGRAM_EMULATOR_LATENCY=0"});
  node_.start();
  EXPECT_EQ(submit->wait(), 0) << submit->err();
  EXPECT_EQ(submit->out(), "job 1 submitted\n");
  EXPECT_EQ(node_.call("GET", "/v1/jobs?all=1").as_array().size(), 1U);
  EXPECT_EQ(node_.await(1, "over").at("exit_code"), 0);
}

TEST_F(WaitCli, TheTimeoutOfWaitAppliesWithoutADaemon) {
  const auto job = node_.submit("1g.5gb", until_file());
  const auto wait = start_waiting({"wait", std::to_string(job), "--timeout", "2s"});
  node_.kill();
  EXPECT_EQ(wait->wait(), 124) << wait->err();
  end_job();
}

// A job may exit with 1 or 2, so failures of Tangram itself have another exit code.
TEST_F(WaitCli, FailuresOfTangramHaveTheirOwnExitCode) {
  EXPECT_THAT(fails({"wait", "999"}), StartsWith("tangram: job 999: not found"));
  EXPECT_THAT(fails({"wait", "1", "--timeout", "soon"}), HasSubstr("--timeout"));
  EXPECT_THAT(fails({"submit", "--wait", "-p", "9g.90gb", "--", "/bin/true"}), HasSubstr("1g.5gb"));
  const auto job = node_.submit("1g.5gb", "exit 1");
  int code = 0;
  node_.tangram({"wait", std::to_string(job)}, &code);
  EXPECT_EQ(code, 1);
  node_.stop();
  EXPECT_THAT(fails({"wait", std::to_string(job)}), HasSubstr("cannot reach tangramd"));
  EXPECT_THAT(fails({"submit", "--wait", "-p", "1g.5gb", "--", "/bin/true"}),
              HasSubstr("cannot reach tangramd"));
}

}  // namespace
}  // namespace tangram::tests
