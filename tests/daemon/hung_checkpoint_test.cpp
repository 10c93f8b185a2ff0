// A user whose checkpoint folder is on a file system that hangs (slow_files.cpp): neither the
// daemon nor moves of other users wait for it.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
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

namespace json = boost::json;
using ::testing::HasSubstr;

// Saves on request; its successor resumes.
constexpr const char* kSavingJob =
    "C=$TANGRAM_CHECKPOINT; if [ \"$TANGRAM_RESUME\" = 1 ]; then : > $C/resumed; fi; "
    "trap ': > $C/saved' USR1; while :; do echo tick; sleep 0.02; done";

class HungCheckpoint : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to act as two users";
    node_.use_environment({"TANGRAM_EMULATOR_LATENCY=0", "LD_PRELOAD=" TANGRAM_SLOW_FILES,
                           "ASAN_OPTIONS=verify_asan_link_order=0",
                           "TANGRAM_SLOW_FILES=" + node_.at("hang")});
    node_.start();
    allow_other_users(node_);
  }
  void TearDown() override { resume(); }
  // The folder of the job hangs.
  void hang(std::uint64_t job) const {
    const std::string text = cat("/checkpoints/", job, "-");
    std::ofstream(node_.at("hang.new")) << text;
    std::filesystem::rename(node_.at("hang.new"), node_.at("hang"));
  }
  void resume() const { std::filesystem::remove(node_.at("hang")); }
  std::uint64_t submit_as_nobody() {
    json::object request =
        node_.job_request("1g.5gb", kSavingJob, {{"move", {{"way", "checkpoint"}}}});
    request["directory"] = "/";
    const auto answer = call_as(kNobody, node_, "POST", "/v1/jobs", request);
    EXPECT_EQ(answer.first, 201) << answer.second;
    return answer.second.at("id").to_number<std::uint64_t>();
  }
  // To a GPU of its own: only one move at a time goes into a GPU.
  void request_move(std::uint64_t id, int gpu) {
    node_.call("POST", cat("/v1/jobs/", id, "/move"), 202,
               json::object{{"to", {{"gpu", gpu}, {"start", 0}}}});
  }
  void await_move(std::uint64_t id, std::size_t places) {
    eventually("the move has ended", [&] { return node_.job(id).at("moving") == false; });
    EXPECT_EQ(node_.job(id).at("places").as_array().size(), places) << node_.log();
  }

  Node node_{{.emulate = "3xA100-40GB",
              .config = "[scheduler]\nmigration = \"off\"\ncooldown = \"0s\"\n"}};
};

TEST_F(HungCheckpoint, DelaysNeitherTheDaemonNorMovesOfOthers) {
  const auto hung = submit_as_nobody();
  const auto other = node_.submit("2g.10gb", kSavingJob, {{"move", {{"way", "checkpoint"}}}});
  for (const auto id : {hung, other}) {
    node_.await(id, "running");
    eventually("its handler is installed",
               [&] { return node_.output(id).find("tick") != std::string::npos; });
  }
  hang(hung);
  request_move(hung, 1);
  for (int i = 0; i < 50; ++i) node_.call("GET", "/healthz");
  EXPECT_EQ(node_.job(hung).at("moving"), true);
  request_move(other, 2);
  await_move(other, 2);
  EXPECT_TRUE(node_.job(hung).at("moving").as_bool());
  resume();
  await_move(hung, 2);
}

// The move of the user itself does not wait for ever, and its job goes on.
TEST_F(HungCheckpoint, EndsTheMoveOfItsUser) {
  const auto hung = submit_as_nobody();
  node_.await(hung, "running");
  eventually("its handler is installed",
             [&] { return node_.output(hung).find("tick") != std::string::npos; });
  hang(hung);
  request_move(hung, 1);
  await_move(hung, 2);  // the slot of the attempt is listed, too
  EXPECT_THAT(node_.log(), HasSubstr("did not respond within 10s"));
  const std::size_t so_far = node_.output(hung).size();
  eventually("the job goes on", [&] { return node_.output(hung).size() > so_far; });
  node_.call("POST", cat("/v1/jobs/", hung, "/cancel"), 202);
  node_.await(hung, "over");
}

// A user with as many jobs as there are threads that start jobs, each with a file system that hangs
// mounted on its checkpoint folder, which is used again when the job is restarted.
TEST(HungMount, DelaysNeitherStartsOfOthersNorTheEndOfTheDaemon) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to act as two users";
  Node node({.emulate = "1xA100-40GB"});
  node.start();
  allow_other_users(node);
  std::vector<std::unique_ptr<os::testing::HungMount>> mounts;
  for (int i = 0; i < 5; ++i) {
    const json::object request = node.job_request(
        "1g.5gb", "sleep 1000", {{"move", {{"way", "checkpoint"}}}, {"restart", "on-failure"}});
    const auto answer = call_as(kNobody, node, "POST", "/v1/jobs", request);
    ASSERT_EQ(answer.first, 201) << answer.second;
    node.await(answer.second.at("id").to_number<std::uint64_t>(), "running");
  }
  for (const auto& each : std::filesystem::directory_iterator(node.state_dir() + "/checkpoints")) {
    mounts.push_back(std::make_unique<os::testing::HungMount>(each.path().string(), kNobody));
    if (!mounts.back()->is_mounted()) GTEST_SKIP() << "needs FUSE, to mount what hangs";
  }
  ASSERT_EQ(mounts.size(), 5U);
  for (const pid_t pid : node.run_processes()) ::kill(pid, SIGKILL);
  eventually("the jobs are started again",
             [&] { return node.call("GET", "/v1/jobs?state=starting").as_array().size() == 5; });
  node.await(node.submit("1g.5gb", "true"), "completed", std::chrono::seconds(5));
  node.stop();
}

}  // namespace
}  // namespace tangram::tests
