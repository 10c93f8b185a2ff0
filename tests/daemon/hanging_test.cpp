// The daemon and what it must not wait for: a user database that hangs (slow_users.cpp), a disk
// that does not come to an end with a file (slow_disk.cpp). Who has to do with it waits; nobody
// else does.
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
    go_on("users.hang");
    go_on("disk.stuck");
  }
  Hanging(const Hanging&) = delete;
  Hanging& operator=(const Hanging&) = delete;
  Hanging(Hanging&&) = delete;
  Hanging& operator=(Hanging&&) = delete;

  void hang(const char* what) const { std::ofstream(node.at(what)); }
  void go_on(const char* what) const { std::filesystem::remove(node.at(what)); }
  std::size_t instances(std::size_t gpu) {
    const json::value all = node.ask("GET", "/v1/gpus");
    return all.as_array().at(gpu).at("instances").as_array().size();
  }
  void expect_answers() {
    for (int i = 0; i < 50; ++i) node.ask("GET", "/healthz");
  }

  Node node{{.config = "[device]\nobserve_every = \"100ms\"\n"}};
};

TEST_F(Hanging, UserDatabaseHoldsUpStartsAndNothingElse) {
  const auto runs = node.submit("1g.5gb", "sleep 1000");
  node.await(runs, "running");
  hang("users.hang");
  std::vector<std::uint64_t> jobs;
  for (int i = 0; i < 5; ++i) jobs.push_back(node.submit("1g.5gb", "true"));
  for (const auto id : jobs) node.await(id, "starting");
  node.ask("POST", cat("/v1/jobs/", jobs[0], "/cancel"), 202);
  node.await(jobs[0], "cancelled");
  for (const pid_t shim : node.shims()) ::kill(shim, SIGKILL);
  EXPECT_EQ(node.await(runs, "over").at("reason"), "supervisor lost");
  for (std::size_t i = 1; i < jobs.size(); ++i) EXPECT_EQ(node.state(jobs[i]), "starting");
  go_on("users.hang");
  for (std::size_t i = 1; i < jobs.size(); ++i) {
    EXPECT_EQ(node.await(jobs[i], "over").at("exit_code"), 0);
  }
}

TEST_F(Hanging, UserDatabaseIsSaid) {
  hang("users.hang");
  const auto id = node.submit("1g.5gb", "true");
  eventually("it is said", [&] {
    const json::object job = node.job(id);
    return job.contains("reason") && job.at("reason").is_string() &&
           job.at("reason").as_string().find("user database") != json::string::npos;
  });
  EXPECT_EQ(node.state(id), "starting");
  go_on("users.hang");
  EXPECT_EQ(node.await(id, "over").at("exit_code"), 0);
}

// What is Tangram's is written down before an instance is made: that waits, and its GPU with it.
TEST_F(Hanging, DiskHoldsUpTheGpuThatIsChangedAndNothingElse) {
  hang("disk.stuck");
  const auto id = node.submit("7g.40gb", "true");
  node.await(id, "placed");
  for (const char* gpu : {"0", "1"}) {
    node.tangram({"emulate", "fault", "foreign", gpu, "1g.5gb@6"});
    node.tangram({"emulate", "fault", "vanish", gpu, "1g.5gb@6"});
  }
  node.tangram({"emulate", "fault", "foreign", "1", "1g.5gb@0"});
  eventually("the other GPU is seen", [&] { return instances(1) == 1; });
  expect_answers();
  EXPECT_EQ(node.state(id), "placed");
  go_on("disk.stuck");
  EXPECT_EQ(node.await(id, "over").at("exit_code"), 0);
}

// Neither does what is done when an instance of ours was removed by somebody.
TEST_F(Hanging, DiskHoldsUpNobodyWhenAnInstanceIsGone) {
  node.await(node.submit("1g.5gb", "true"), "over");
  const auto standing = node.instances();
  ASSERT_EQ(standing.size(), 1U);
  hang("disk.stuck");
  node.tangram({"emulate", "fault", "vanish", standing[0].substr(0, 1), standing[0].substr(2)});
  eventually("it is seen", [&] { return instances(0) + instances(1) == 0; });
  expect_answers();
  const auto id = node.submit("1g.5gb", "true");
  go_on("disk.stuck");
  EXPECT_EQ(node.await(id, "over").at("exit_code"), 0);
}

// That a run never begins is made to last before it is said.
TEST_F(Hanging, DiskHoldsUpTheEndOfAJobThatNeverBeganAndNothingElse) {
  hang("users.hang");
  const auto id = node.submit("1g.5gb", "true");
  node.await(id, "starting");
  hang("disk.stuck");
  node.ask("POST", cat("/v1/jobs/", id, "/cancel"), 202);
  expect_answers();
  EXPECT_EQ(node.state(id), "stopping");
  go_on("disk.stuck");
  EXPECT_EQ(node.await(id, "cancelled").at("reason"), "ended before it began");
}

}  // namespace
}  // namespace tangram::tests
