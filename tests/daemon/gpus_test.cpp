// Changes of GPUs, through the real daemon: foreign instances, Xids, MIG mode after a reboot,
// driver faults, changes of the tuning. They are caused in the emulated driver and observed through
// the API.
#include <algorithm>
#include <csignal>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;

constexpr const char* kQuick = "[device]\nobserve_every = \"100ms\"\n";

json::object gpu(Node& node, std::size_t index) {
  const json::value all = node.call("GET", "/v1/gpus");
  return all.as_array().at(index).as_object();
}

std::vector<std::string> states(Node& node, std::size_t index) {
  std::vector<std::string> found;
  const json::object seen = gpu(node, index);
  for (const auto& each : seen.at("instances").as_array()) {
    found.push_back(cat(std::string_view(each.at("profile").as_string()), "@",
                        each.at("start").to_number<int>(), " ",
                        std::string_view(each.at("state").as_string())));
  }
  return found;
}

TEST(Gpus, ForeignInstancesAreKeptAndCountAsOccupied) {
  Node node({.emulate = "1xA100-40GB", .config = kQuick});
  node.start();
  node.tangram({"emulate", "fault", "foreign", "0", "3g.20gb@4"});
  eventually("the foreign instance is seen",
             [&] { return states(node, 0) == std::vector<std::string>{"3g.20gb@4 foreign"}; });
  const auto small = node.submit("2g.10gb", "true");
  EXPECT_EQ(node.await(small, "over").at("exit_code"), 0);
  const auto large = node.submit("7g.40gb", "true");
  EXPECT_EQ(node.state(large), "queued");
  node.kill();
  node.start();
  EXPECT_EQ(node.state(large), "queued");
  const auto standing = node.instances();
  EXPECT_NE(std::ranges::find(standing, "0 3g.20gb@4"), standing.end());
}

TEST(Gpus, AnUnknownEmulatedModelIsNamed) {
  Node node({.emulate = "1xFOO"});
  EXPECT_EQ(node.start_and_fail(), 1);
  const std::string log = node.log();
  EXPECT_TRUE(log.contains("'FOO'") && log.contains("Known models: ") && log.contains("A100-40GB"))
      << log;
  EXPECT_FALSE(log.contains("kernel driver")) << log;
}

TEST(Gpus, AFatalXidCordonsAndAnotherDoesNot) {
  Node node({.config = kQuick});
  node.start();
  node.tangram({"emulate", "fault", "xid", "0", "13"});
  node.tangram({"emulate", "fault", "xid", "0", "48"});
  eventually("it is cordoned", [&] { return gpu(node, 0).at("cordoned").as_bool(); });
  EXPECT_FALSE(gpu(node, 1).at("cordoned").as_bool());
  const auto id = node.submit("7g.40gb", "true");
  EXPECT_EQ(node.await(id, "over").at("gpu"), 1);
  node.kill();
  node.start();
  EXPECT_TRUE(gpu(node, 0).at("cordoned").as_bool());  // a restart does not repair the GPU
}

TEST(Gpus, ARebootTakesACordonedGpuBackIntoService) {
  Node node({.config = kQuick});
  node.start();
  const auto id = node.submit("1g.5gb", "sleep 1000");
  node.await(id, "running");
  node.tangram({"emulate", "fault", "xid", "0", "48"});
  eventually("it is cordoned", [&] { return gpu(node, 0).at("cordoned").as_bool(); });
  node.kill();
  for (const pid_t shim : node.shims()) ::kill(shim, SIGKILL);
  for (const pid_t pid : node.run_processes()) ::kill(pid, SIGKILL);
  node.tangram({"emulate", "reboot"});
  node.start();
  eventually("it is in service", [&] { return !gpu(node, 0).at("cordoned").as_bool(); });
}

TEST(Gpus, AFailedCreationIsTriedElsewhere) {
  Node node({.config = kQuick});
  node.start();
  node.tangram({"emulate", "fault", "call", "nvmlDeviceCreateGpuInstanceWithPlacement=UNKNOWN",
                "--gpu", "0", "--times", "0"});
  const auto id = node.submit("7g.40gb", "true");
  const json::object job = node.await(id, "over");
  EXPECT_EQ(job.at("gpu"), 1);
  EXPECT_EQ(job.at("restarts"), 0);
}

TEST(Gpus, ADriverThatHangsOnOneGpuDoesNotBlockAnother) {
  Node node({.config = "[device]\nobserve_every = \"100ms\"\nchange_time = \"300ms\"\n"
                       "in_use_time = \"50ms\"\n"});
  node.start();
  node.tangram({"emulate", "fault", "call", "nvmlDeviceCreateGpuInstanceWithPlacement=hang:1500",
                "--gpu", "0", "--times", "1"});
  const auto first = node.submit("7g.40gb", "true");
  eventually("it is unresponsive", [&] { return gpu(node, 0).at("health") == "unresponsive"; });
  const auto second = node.submit("7g.40gb", "true");
  EXPECT_EQ(node.await(second, "over").at("gpu"), 1);
  EXPECT_EQ(node.await(first, "over").at("exit_code"), 0);
  EXPECT_EQ(gpu(node, 0).at("health"), "ok");
}

// The daemon cannot see that GPU's instances, but those of the other: an instance released there is
// given to the next lease.
TEST(Gpus, AHangingPollOfOneGpuDoesNotAffectAnother) {
  Node node({.config = "[device]\nobserve_every = \"100ms\"\nchange_time = \"300ms\"\n"
                       "in_use_time = \"50ms\"\n"});
  node.start();
  node.await(node.submit("7g.40gb", "sleep 1000"), "running");
  const json::object wanted{{"profile", "3g.20gb"}, {"ttl", "1h"}};
  const json::value lease = node.call("POST", "/v1/leases", 201, wanted);
  ASSERT_EQ(lease.at("gpu"), 1);
  node.tangram({"emulate", "fault", "call", "nvmlDeviceGetGpuInstances=hang:600000", "--gpu", "0",
                "--times", "1"});
  eventually("it is unresponsive", [&] { return gpu(node, 0).at("health") == "unresponsive"; });
  const std::string path = cat("/v1/leases/", lease.at("id").to_number<int>());
  node.call("DELETE", path);
  eventually("it is released", [&] { return node.call("GET", path).at("state") == "over"; });
  const json::value next = node.call("POST", "/v1/leases", 201, wanted);
  EXPECT_EQ(next.at("uuid"), lease.at("uuid"));
  node.tangram({"emulate", "fault", "foreign", "1", "1g.5gb@0"});
  eventually("the foreign instance is seen", [&] { return states(node, 1).size() == 2; });
  EXPECT_EQ(gpu(node, 1).at("health"), "ok");
  EXPECT_EQ(gpu(node, 0).at("health"), "unresponsive");
}

TEST(Gpus, ARecoveredGpuIsInServiceWhileRegisteringEventsHangs) {
  Node node({.config = "[device]\nobserve_every = \"100ms\"\nfatal_xids = [48]\n"});
  node.start();
  node.tangram({"emulate", "fault", "fall-off", "0"});
  eventually("it is lost", [&] { return gpu(node, 0).at("health") == "lost"; });
  node.tangram(
      {"emulate", "fault", "call", "nvmlDeviceRegisterEvents=hang:600000", "--times", "0"});
  node.tangram({"emulate", "reboot"});
  eventually("it is back", [&] { return gpu(node, 0).at("health") == "ok"; });
  EXPECT_EQ(node.await(node.submit("7g.40gb", "true"), "over").at("gpu"), 0);
}

TEST(Gpus, AGpuIsAddedWhenItsMigModeIsSwitchedOn) {
  const os::testing::Folder folder;
  Node node({.emulate = folder.write("node.toml", "[[gpu]]\nmodel = \"H100-80GB\"\nmig = false\n"),
             .config = kQuick});
  node.start();
  EXPECT_EQ(gpu(node, 0).at("mig"), "off");
  node.tangram({"device", "prepare"});
  node.tangram({"emulate", "fault", "foreign", "0", "3g.40gb@4"});
  eventually("the GPU and its instance are seen", [&] {
    const json::object seen = gpu(node, 0);
    return seen.contains("instances") && seen.at("instances").as_array().size() == 1;
  });
  EXPECT_EQ(states(node, 0), std::vector<std::string>{"3g.40gb@4 foreign"});
  EXPECT_EQ(node.await(node.submit("1g.10gb", "true"), "over").at("exit_code"), 0);
}

TEST(Gpus, TuningIsReadAgainOnSighup) {
  Node node({.config = "[scheduler]\nthreshold = \"0.4\"\n"});
  node.start();
  node.folder().write("tangram.toml",
                      "[scheduler]\nthreshold = \"0.75\"\nplacement = \"best-fit\"\n");
  node.reload();
  eventually("the tuning is applied", [&] {
    const json::value status = node.call("GET", "/v1/status");
    return status.at("threshold") == "0.75" && status.at("placement") == "best-fit";
  });
  node.folder().write("tangram.toml", "[scheduler]\nthreshold = \"7\"\n");
  node.reload();
  eventually("the mistake is logged",
             [&] { return node.log().find("configuration not reloaded") != std::string::npos; });
  EXPECT_EQ(node.call("GET", "/v1/status").at("threshold"), "0.75");
}

}  // namespace
}  // namespace tangram::tests
