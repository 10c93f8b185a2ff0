// The daemon while a user database (slow_users.cpp) or fsync of a file (slow_disk.cpp) hangs: only
// what depends on it waits.
#include <csignal>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

class Hanging : public ::testing::Test {
 protected:
  Hanging() {
    node.use_environment(
        {"TANGRAM_EMULATOR_LATENCY=0", "LD_PRELOAD=" TANGRAM_SLOW_DISK ":" TANGRAM_SLOW_USERS,
         "ASAN_OPTIONS=verify_asan_link_order=0", "TANGRAM_SLOW_DISK=" + node.at("disk"),
         "TANGRAM_SLOW_USERS=" + node.at("users")});
    node.start();
  }
  ~Hanging() override {
    resume("users.hang");
    resume("disk.stuck");
  }
  Hanging(const Hanging&) = delete;
  Hanging& operator=(const Hanging&) = delete;
  Hanging(Hanging&&) = delete;
  Hanging& operator=(Hanging&&) = delete;

  void hang(const char* what) const { std::ofstream(node.at(what)); }
  void resume(const char* what) const { std::filesystem::remove(node.at(what)); }
  std::size_t instances(std::size_t gpu) {
    const json::value all = node.call("GET", "/v1/gpus");
    return all.as_array().at(gpu).at("instances").as_array().size();
  }
  void expect_answers() {
    for (int i = 0; i < 50; ++i) node.call("GET", "/healthz");
  }

  Node node{{.config = "[device]\nobserve_every = \"100ms\"\n"}};
};

TEST_F(Hanging, UserDatabaseDelaysOnlyStarts) {
  const auto running = node.submit("1g.5gb", "sleep 1000");
  node.await(running, "running");
  hang("users.hang");
  std::vector<std::uint64_t> jobs;
  for (int i = 0; i < 5; ++i) jobs.push_back(node.submit("1g.5gb", "true"));
  for (const auto id : jobs) node.await(id, "starting");
  node.call("POST", cat("/v1/jobs/", jobs[0], "/cancel"), 202);
  node.await(jobs[0], "cancelled");
  for (const pid_t shim : node.shims()) ::kill(shim, SIGKILL);
  EXPECT_EQ(node.await(running, "over").at("reason"), "shim lost");
  for (std::size_t i = 1; i < jobs.size(); ++i) EXPECT_EQ(node.state(jobs[i]), "starting");
  resume("users.hang");
  for (std::size_t i = 1; i < jobs.size(); ++i) {
    EXPECT_EQ(node.await(jobs[i], "over").at("exit_code"), 0);
  }
}

TEST_F(Hanging, UserDatabaseIsReportedAsTheReason) {
  hang("users.hang");
  const auto id = node.submit("1g.5gb", "true");
  eventually("the reason names it", [&] {
    const json::object job = node.job(id);
    return job.contains("reason") && job.at("reason").is_string() &&
           job.at("reason").as_string().find("looking up user") != json::string::npos;
  });
  EXPECT_EQ(node.state(id), "starting");
  resume("users.hang");
  EXPECT_EQ(node.await(id, "over").at("exit_code"), 0);
}

// The list of owned instances is written before an instance is created: the creation waits, and
// with it other work on that GPU.
TEST_F(Hanging, DiskDelaysOnlyTheGpuThatIsChanged) {
  hang("disk.stuck");
  const auto id = node.submit("7g.40gb", "true");
  node.await(id, "placed");
  for (const char* gpu : {"0", "1"}) {
    node.tangram({"emulate", "fault", "foreign", gpu, "1g.5gb@6"});
    node.tangram({"emulate", "fault", "vanish", gpu, "1g.5gb@6"});
  }
  node.tangram({"emulate", "fault", "foreign", "1", "1g.5gb@0"});
  eventually("the foreign instance on the other GPU is seen", [&] { return instances(1) == 1; });
  expect_answers();
  EXPECT_EQ(node.state(id), "placed");
  resume("disk.stuck");
  EXPECT_EQ(node.await(id, "over").at("exit_code"), 0);
}

// The handling of an owned instance that was removed from outside does not wait for the disk.
TEST_F(Hanging, DiskDoesNotDelayTheRemovalOfAnInstance) {
  node.await(node.submit("1g.5gb", "true"), "over");
  const auto standing = node.instances();
  ASSERT_EQ(standing.size(), 1U);
  hang("disk.stuck");
  node.tangram({"emulate", "fault", "vanish", standing[0].substr(0, 1), standing[0].substr(2)});
  eventually("the removal is seen", [&] { return instances(0) + instances(1) == 0; });
  expect_answers();
  const auto id = node.submit("1g.5gb", "true");
  resume("disk.stuck");
  EXPECT_EQ(node.await(id, "over").at("exit_code"), 0);
}

// That a run was sealed before it began is made durable before the job's end is reported.
TEST_F(Hanging, DiskDelaysOnlyTheEndOfAJobThatNeverBegan) {
  hang("users.hang");
  const auto id = node.submit("1g.5gb", "true");
  node.await(id, "starting");
  hang("disk.stuck");
  node.call("POST", cat("/v1/jobs/", id, "/cancel"), 202);
  expect_answers();
  EXPECT_EQ(node.state(id), "stopping");
  resume("disk.stuck");
  EXPECT_EQ(node.await(id, "cancelled").at("reason"), "stopped before it started");
}

}  // namespace
}  // namespace tangram::tests
