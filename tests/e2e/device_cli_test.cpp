// `tangram device …` and `tangram emulate …` on emulated nodes. Every test has its own node in its
// own folder.
#include <thread>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "cli_check.hpp"
#include "tests/support/os/folder.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class DeviceCli : public ::testing::Test {
 protected:
  Ended run(const Words& words) {
    return tangram_run(words, "",
                       {"TANGRAM_EMULATE=" + node_, "TANGRAM_EMULATOR_STATE=" + state(),
                        "TANGRAM_EMULATOR_LATENCY=0"});
  }
  std::string ok(const Words& words) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return ended.out;
  }
  std::string refused(const Words& words, int code) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, code) << ended.out;
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, AllOf(StartsWith("tangram: "), EndsWith("\n")));
    return ended.err;
  }
  json::value parsed(Words words) {
    words.emplace_back("--json");
    return json::parse(ok(words));
  }
  void write_node(const std::string& toml) { node_ = folder_.write("node.toml", toml); }
  [[nodiscard]] std::string state() const { return folder_.at("state"); }

  os::testing::Folder folder_;
  std::string node_ = "2xA100-40GB";
};

TEST_F(DeviceCli, ListsTheGpusOfTheDriver) {
  node_ = "A30,H100-80GB";
  const json::array gpus = parsed({"device", "list"}).as_array();
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].at("model"), "A30-24GB");
  EXPECT_EQ(gpus[0].at("mig"), "on");
  EXPECT_EQ(gpus[0].at("resetless"), false);
  EXPECT_EQ(gpus[1].at("name"), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(gpus[1].at("health"), "ok");
  EXPECT_EQ(gpus[1].at("differences").as_array().size(), 0U);
  EXPECT_THAT(ok({"device", "list"}), AllOf(HasSubstr("A30-24GB"), HasSubstr("GPU-")));
}

TEST_F(DeviceCli, CreatesListsAndDestroys) {
  EXPECT_THAT(ok({"device", "create", "3g.20gb", "--gpu", "1"}),
              StartsWith("created 3g.20gb@4 on GPU 1: MIG-"));
  const json::value made = parsed({"device", "create", "2g.10gb@2", "--gpu", "1"});
  EXPECT_EQ(made.at("start"), 2);
  const json::array listed = parsed({"device", "instances", "--gpu", "1"}).as_array();
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0].at("profile"), "2g.10gb");
  EXPECT_EQ(listed[0].at("uuid"), made.at("uuid"));
  EXPECT_EQ(listed[0].at("ours"), true);
  EXPECT_THAT(ok({"device", "instances"}), HasSubstr("no instances"));  // of GPU 0
  EXPECT_EQ(ok({"device", "destroy", std::string(made.at("uuid").as_string())}),
            "destroyed 2g.10gb@2 on GPU 1\n");
  EXPECT_EQ(ok({"device", "destroy", "3g.20gb@4", "--gpu", "1"}), "destroyed 3g.20gb@4 on GPU 1\n");
  EXPECT_EQ(parsed({"device", "instances"}).as_array().size(), 0U);
}

TEST_F(DeviceCli, KeepsForeignInstancesUnlessTheyAreAdopted) {
  EXPECT_THAT(ok({"emulate", "fault", "foreign", "0", "4g.20gb@0"}),
              HasSubstr("4g.20gb@0 on GPU 0 created as a foreign instance"));
  EXPECT_THAT(refused({"device", "destroy", "4g.20gb@0", "--gpu", "0"}, 2),
              AllOf(HasSubstr("Tangram did not create it"), HasSubstr("--adopt")));
  EXPECT_EQ(parsed({"device", "instances"}).as_array().at(0).at("ours"), false);
  EXPECT_THAT(ok({"device", "doctor"}), HasSubstr("not\n        Tangram's"));
  ok({"device", "destroy", "4g.20gb@0", "--gpu", "0", "--adopt"});
  EXPECT_EQ(parsed({"device", "instances"}).as_array().size(), 0U);
}

TEST_F(DeviceCli, RejectsImpossibleRequests) {
  EXPECT_THAT(refused({"device", "create", "2g.10gb"}, 2), HasSubstr("choose one with --gpu"));
  EXPECT_THAT(refused({"device", "create", "2g.10gb", "--gpu", "9"}, 2),
              HasSubstr("GPU '9': not found; this node has GPUs 0 to 1"));
  EXPECT_THAT(refused({"device", "create", "2g.20gb", "--gpu", "0"}, 2), HasSubstr("2g.10gb"));
  EXPECT_THAT(refused({"device", "create", "2g.10gb@1", "--gpu", "0"}, 2), HasSubstr("0, 2 and 4"));
  EXPECT_THAT(refused({"device", "destroy", "2g.10gb@0", "--gpu", "0"}, 2),
              HasSubstr("instance '2g.10gb@0': not found"));
  ok({"device", "create", "7g.40gb", "--gpu", "0"});
  EXPECT_THAT(refused({"device", "create", "1g.5gb", "--gpu", "0"}, 1), HasSubstr("no room"));
  EXPECT_THAT(refused({"device", "create", "1g.5gb@3", "--gpu", "0"}, 1), HasSubstr("7g.40gb"));
}

TEST_F(DeviceCli, ReportsAnInstanceInUse) {
  const json::value made = parsed({"device", "create", "1g.5gb", "--gpu", "0"});
  const std::string uuid(made.at("uuid").as_string());
  ok({"emulate", "fault", "call", "nvmlComputeInstanceDestroy=IN_USE", "--times", "0"});
  EXPECT_THAT(refused({"device", "destroy", uuid, "--wait", "0"}, 1), HasSubstr("in use"));
  ok({"emulate", "fault", "clear"});
  ok({"device", "destroy", uuid});
}

TEST_F(DeviceCli, RetriesWhileAnInstanceIsInUse) {
  ok({"device", "create", "1g.5gb@0", "--gpu", "0"});
  ok({"emulate", "fault", "call", "nvmlGpuInstanceDestroy=IN_USE", "--times", "3"});
  ok({"device", "destroy", "1g.5gb@0", "--gpu", "0"});
  EXPECT_EQ(parsed({"device", "instances"}).as_array().size(), 0U);
}

TEST_F(DeviceCli, PreparesAmpereAndHopper) {
  write_node(
      "[[gpu]]\nmodel = \"A100-40GB\"\nmig = false\n[[gpu]]\nmodel = \"H100-80GB\"\nmig = false\n");
  EXPECT_THAT(refused({"device", "create", "1g.5gb", "--gpu", "0"}, 1), HasSubstr("prepare"));
  EXPECT_THAT(ok({"device", "list"}), HasSubstr("node prepare`"));
  EXPECT_EQ(ok({"node", "prepare"}),
            "GPU 0: MIG is on (persistent across reboots)\n"
            "GPU 1: MIG is on (until the driver is unloaded or the machine reboots)\n");
  ok({"device", "create", "1g.5gb", "--gpu", "0"});
  const json::array gpus = parsed({"emulate", "reboot"}).at("gpus").as_array();
  EXPECT_EQ(gpus[0].at("mig"), true);
  EXPECT_EQ(gpus[0].at("instances").as_array().size(), 0U);
  EXPECT_EQ(gpus[1].at("mig"), false);
}

TEST_F(DeviceCli, ReportsThatMigIsOnlyPending) {
  write_node("[[gpu]]\nmodel = \"A100-40GB\"\nmig = false\nin_vm = true\n");
  EXPECT_THAT(refused({"device", "prepare"}, 1),
              AllOf(HasSubstr("not ready (MIG pending-on)"), HasSubstr("reset")));
  EXPECT_EQ(parsed({"device", "prepare"}).as_array().at(0).at("ready"), false);
  ok({"emulate", "reset-gpu", "0"});
  EXPECT_EQ(parsed({"device", "list"}).as_array().at(0).at("mig"), "on");
}

TEST_F(DeviceCli, BenchLeavesNoInstances) {
  const json::array rows = parsed({"device", "bench", "--gpu", "0", "--times", "2"}).as_array();
  EXPECT_EQ(rows.size(), 7U);  // every profile of an A100
  EXPECT_EQ(rows[0].at("create_s").as_array().size(), 2U);
  EXPECT_EQ(parsed({"device", "instances"}).as_array().size(), 0U);
}

TEST_F(DeviceCli, ALostGpuDoesNotHideTheOthers) {
  ok({"emulate", "fault", "fall-off", "0"});
  const json::array gpus = parsed({"device", "list"}).as_array();
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].at("health"), "lost");
  EXPECT_EQ(gpus[1].at("health"), "ok");
  EXPECT_THAT(ok({"device", "doctor"}), HasSubstr("PROBLEM"));
  EXPECT_EQ(gpus[0].at("mig"), "unknown");
  const json::value made = parsed({"device", "create", "1g.5gb", "--gpu", "1"});
  EXPECT_EQ(parsed({"device", "instances"}).as_array().size(), 1U);
  ok({"device", "destroy", std::string(made.at("uuid").as_string())});
  EXPECT_THAT(refused({"device", "prepare", "--gpu", "0"}, 1), HasSubstr("GPU 0 is not ready"));
  EXPECT_THAT(refused({"emulate", "reset-gpu", "0"}, 1), HasSubstr("fallen off"));
}

TEST_F(DeviceCli, AnInstanceAtOurPlaceAfterARebootIsNotOurs) {
  ok({"device", "create", "2g.10gb@4", "--gpu", "0"});
  ok({"emulate", "reboot"});
  ok({"emulate", "fault", "foreign", "0", "2g.10gb@4"});
  EXPECT_THAT(refused({"device", "destroy", "2g.10gb@4", "--gpu", "0"}, 2), HasSubstr("--adopt"));
}

TEST_F(DeviceCli, AnInstanceSeenGoneIsNotOursWhenItIsBack) {
  ok({"device", "create", "2g.10gb@4", "--gpu", "0"});
  ok({"emulate", "reset-gpu", "0"});
  EXPECT_EQ(parsed({"device", "instances"}).as_array().size(), 0U);
  ok({"emulate", "fault", "foreign", "0", "2g.10gb@4"});
  EXPECT_EQ(parsed({"device", "instances"}).as_array().at(0).at("ours"), false);
}

TEST_F(DeviceCli, ConcurrentCommandsKeepEachOthersClaims) {
  ok({"device", "list"});  // creates the node
  ok({"emulate", "fault", "call", "nvmlDeviceCreateGpuInstanceWithPlacement=hang:300"});
  Ended slow;
  std::thread other([&] { slow = run({"device", "create", "3g.20gb@0", "--gpu", "0"}); });
  const Ended quick = run({"device", "create", "3g.20gb@0", "--gpu", "0"});
  other.join();
  EXPECT_EQ(slow.code + quick.code, 1) << slow.err << quick.err;  // exactly one of them fails
  EXPECT_EQ(parsed({"device", "instances"}).as_array().at(0).at("ours"), true);
}

TEST_F(DeviceCli, AFailedAdoptionIsUndone) {
  ok({"emulate", "fault", "foreign", "0", "1g.5gb@0"});
  ok({"emulate", "fault", "call", "nvmlComputeInstanceDestroy=IN_USE", "--times", "0"});
  refused({"device", "destroy", "1g.5gb@0", "--gpu", "0", "--adopt", "--wait", "0"}, 1);
  EXPECT_EQ(parsed({"device", "instances"}).as_array().at(0).at("ours"), false);
}

TEST_F(DeviceCli, WithoutALibraryTheErrorGivesAdvice) {
  const Ended ended = tangram_run({"device", "list", "--nvml", "/nowhere/libnvidia-ml.so.1"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("/nowhere/libnvidia-ml.so.1"), HasSubstr("emulate")));
}

TEST_F(DeviceCli, EmulateReportsStatusAndErrors) {
  EXPECT_THAT(ok({"emulate", "path"}), EndsWith("/emulator\n"));
  EXPECT_THAT(ok({"emulate", "status"}), HasSubstr("A100-40GB"));
  EXPECT_THAT(refused({"emulate", "fault", "call", "nvmlDeviceGetName=lie"}, 2), HasSubstr("lie"));
  EXPECT_THAT(refused({"emulate", "fault", "call", "nvmlDeviceGetName=NO_SUCH"}, 2),
              HasSubstr("unknown error"));
  EXPECT_THAT(refused({"emulate", "fault", "xid", "7", "94"}, 2),
              HasSubstr("emulated GPU 7: not found"));
  ok({"emulate", "fault", "call", "*=GPU_IS_LOST", "--gpu", "1", "--percent", "50"});
  EXPECT_THAT(ok({"emulate", "status"}), HasSubstr("*=GPU_IS_LOST on GPU 1, 1 times, 50 %"));
  EXPECT_THAT(ok({"emulate", "reset", "3xA30"}), HasSubstr("A30-24GB"));
  EXPECT_THAT(refused({"emulate", "status"}, 1),  // the environment says 2xA100-40GB
              HasSubstr("describes another node ('3xA30')"));
  EXPECT_THAT(refused({"device", "list"}, 1), Not(HasSubstr("modprobe")));
  EXPECT_THAT(ok({"emulate", "reset"}), HasSubstr("A100-40GB"));  // as the environment says
  EXPECT_THAT(refused({"emulate", "fault", "call", "nvmlGpuInstanceDestroi=IN_USE"}, 2),
              HasSubstr("not an NVML function"));
  EXPECT_THAT(refused({"emulate", "fault", "call", "*=IN_USE", "--gpu", "-5"}, 2),
              HasSubstr("emulated GPU -5: not found"));
}

TEST_F(DeviceCli, RejectsInvalidNodes) {
  node_ = "4xA1000";
  EXPECT_THAT(refused({"emulate", "status"}, 1), HasSubstr("4xA100-40GB"));
  write_node("[[gpu]]\nmodel = \"A30\"\ninstances = [\"2g.12gb@1\"]\n");
  EXPECT_THAT(refused({"emulate", "status"}, 1), HasSubstr("node.toml:3:"));
}

}  // namespace
}  // namespace tangram::tests
