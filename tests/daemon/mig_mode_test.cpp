// MIG mode that is off, through the real daemon: Hopper and later GPUs lose it at every boot. A GPU
// without it is out of service, jobs wait and none fails; where that is safe, the daemon switches
// it on again.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kQuick = "[device]\nobserve_every = \"100ms\"\n";
constexpr const char* kNever = "[device]\nobserve_every = \"100ms\"\nenable_mig = \"never\"\n";

class MigMode : public ::testing::Test {
 protected:
  Node& start(const std::string& config, const std::string& emulate = "1xH100-80GB") {
    node_.emplace(NodeOptions{.emulate = emulate, .config = config});
    node_->start();
    return *node_;
  }
  // A job that runs, and eight behind it.
  void fill_queue() {
    node_->await(node_->submit("7g.80gb", "exec sleep 1000"), "running");
    for (int i = 0; i < 8; ++i) waiting_.push_back(node_->submit("7g.80gb", "true"));
    EXPECT_EQ(node_->state(waiting_.back()), "queued");
  }
  // The machine reboots: no process and no instance is left.
  void reboot() {
    node_->kill();
    for (const pid_t shim : node_->shims()) ::kill(shim, SIGKILL);
    for (const pid_t pid : node_->run_processes()) ::kill(pid, SIGKILL);
    node_->tangram({"emulate", "reboot"});
    node_->start();
  }
  std::string mig(std::size_t gpu = 0) { return text_of(gpu, "mig"); }
  std::string health(std::size_t gpu = 0) { return text_of(gpu, "health"); }
  std::string text_of(std::size_t gpu, const char* key) {
    const json::value gpus = node_->call("GET", "/v1/gpus");
    return std::string(gpus.as_array().at(gpu).at(key).as_string());
  }
  std::uint64_t fits(const std::string& profile) {
    const json::value status = node_->call("GET", "/v1/status");
    for (const json::value& each : status.at("profiles").as_array()) {
      if (each.at("name").as_string() == profile)
        return each.at("fits_now").to_number<std::uint64_t>();
    }
    return 0;
  }
  std::string metrics() { return std::string(node_->call("GET", "/metrics").as_string()); }
  void expect_all_complete() {
    for (const std::uint64_t id : waiting_) {
      const json::object job = node_->await(id, "over");
      EXPECT_EQ(job.at("state"), "completed") << id << ": " << job;
    }
  }

  std::optional<Node> node_;
  std::vector<std::uint64_t> waiting_;
};

TEST_F(MigMode, TheRebootOfAHopperNodeLosesNoQueuedJob) {
  start(kQuick);
  fill_queue();
  reboot();
  EXPECT_EQ(mig(), "on");
  expect_all_complete();
}

TEST_F(MigMode, JobsWaitWhileItIsOff) {
  Node& node = start(kNever);
  fill_queue();
  reboot();
  EXPECT_EQ(health(), "mig-off");
  EXPECT_EQ(fits("1g.10gb"), 0U);
  const auto late = node.submit("1g.10gb", "true");
  for (const std::uint64_t id : {waiting_.front(), waiting_.back(), late}) {
    const json::object job = node.job(id);
    EXPECT_EQ(job.at("state"), "held") << id;
    EXPECT_THAT(std::string(job.at("reason").as_string()), HasSubstr("MIG mode is off on GPU 0"));
    const std::string why = node.tangram({"explain", std::to_string(id)});
    EXPECT_THAT(why, AllOf(HasSubstr("MIG mode is off"), HasSubstr("tangram node prepare")));
  }
  for (const char* verb : {"status", "gpus"}) {
    EXPECT_THAT(node.tangram({verb}), AllOf(HasSubstr("MIG is off"), HasSubstr("-mig 1"))) << verb;
  }
  EXPECT_THAT(node.tangram({"ps"}), HasSubstr("MIG"));
  EXPECT_THAT(metrics(), HasSubstr("tangram_gpu_mig_off{gpu=\"0\""));
  EXPECT_THAT(std::string(node.call("GET", "/readyz", 503).at("detail").as_string()),
              AllOf(HasSubstr("MIG is off"), HasSubstr("tangram node prepare")));
  EXPECT_THAT(node.tangram({"events", "--after", "0", "--kind", "gpu"}),
              HasSubstr("GPU 0 is lost: MIG mode is off"));
  node.tangram({"device", "prepare"});
  expect_all_complete();
  node.await(late, "completed");
  EXPECT_EQ(node.call("GET", "/readyz").at("status"), "ok");
}

TEST_F(MigMode, ANodeWithOtherGpusIsDegraded) {
  const os::testing::Folder folder;
  Node& node = start(kNever, folder.write("node.toml",
                                          "[[gpu]]\nmodel = \"A100-80GB\"\n"
                                          "[[gpu]]\nmodel = \"H100-80GB\"\n"));
  reboot();
  EXPECT_EQ(health(0), "ok");
  EXPECT_EQ(health(1), "mig-off");
  const json::value ready = node.call("GET", "/readyz");
  EXPECT_EQ(ready.at("status"), "degraded");
  EXPECT_THAT(std::string(ready.at("troubles").at(0).as_string()), HasSubstr("GPU 1: MIG is off"));
  EXPECT_EQ(fits("7g.80gb"), 1U);
  EXPECT_EQ(node.await(node.submit("7g.80gb", "true"), "over").at("gpu"), 0);
}

TEST_F(MigMode, IsSwitchedOnOnlyWhereTangramWasOrMay) {
  const os::testing::Folder folder;
  const std::string off =
      folder.write("node.toml", "[[gpu]]\nmodel = \"H100-80GB\"\nmig = false\n");
  Node& node = start(kQuick, off);
  EXPECT_EQ(mig(), "off");
  const std::string uuid = text_of(0, "uuid");
  EXPECT_THAT(node.tangram({"status"}), HasSubstr("MIG is off"));
  node.stop();
  node.folder().write("tangram.toml", cat(kQuick, "mig_gpus = [\"", uuid, "\"]\n"));
  node.start();
  EXPECT_EQ(mig(), "on");
  node.stop();
  node.folder().write("tangram.toml", kQuick);
  node.tangram({"emulate", "reboot"});
  node.start();
  EXPECT_EQ(mig(), "on");  // it is in the store now
}

TEST_F(MigMode, StaysOffOnACordonedGpu) {
  Node& node = start(kQuick);
  node.tangram({"cordon", "0"});
  reboot();
  EXPECT_EQ(mig(), "off");
  node.tangram({"uncordon", "0"});
  eventually("it is switched on", [&] { return mig() == "on"; });
  EXPECT_EQ(node.await(node.submit("7g.80gb", "true"), "over").at("exit_code"), 0);
}

TEST_F(MigMode, StaysOffIfProcessesCannotBeRuledOut) {
  Node& node = start(kQuick);
  node.stop();
  node.tangram({"emulate", "reboot"});
  node.tangram(
      {"emulate", "fault", "call", "nvmlDeviceGetComputeRunningProcesses=UNKNOWN", "--times", "0"});
  node.start();
  EXPECT_EQ(mig(), "off");
  EXPECT_THAT(node.tangram({"status"}), HasSubstr("has not switched it on"));
}

// A driver that reports success without a change: the mode is read back.
TEST_F(MigMode, IsReadBack) {
  Node& node = start(kQuick);
  node.stop();
  node.tangram({"emulate", "reboot"});
  node.tangram({"emulate", "fault", "call", "nvmlDeviceSetMigMode=lie", "--times", "0"});
  node.start();
  EXPECT_EQ(health(), "mig-off");
  EXPECT_THAT(node.tangram({"gpus"}), HasSubstr("nothing changed"));
}

// Somebody switches it off while the daemon runs, which learns of it from a creation that fails.
TEST_F(MigMode, SwitchedOffUnderTheDaemonFailsNoJob) {
  Node& node = start("[device]\nobserve_every = \"2s\"\n");
  node.tangram({"emulate", "reboot"});
  for (int i = 0; i < 8; ++i) waiting_.push_back(node.submit("7g.80gb", "true"));
  eventually("the GPU is out of service", [&] { return health() != "ok"; });
  for (const std::uint64_t id : waiting_) EXPECT_EQ(node.state(id), "held");
  eventually("the reason is known", [&] { return health() == "mig-off"; });
  EXPECT_THAT(node.log(), Not(HasSubstr("switched MIG mode on")));
  node.tangram({"device", "prepare"});
  expect_all_complete();
}

}  // namespace
}  // namespace tangram::tests
