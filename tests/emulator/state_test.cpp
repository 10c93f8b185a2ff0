// The state file: it outlives its processes, all of them see the same state at once, and any other
// file is rejected with an error on standard error.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "child.hpp"
#include "listing.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

using nvml::kSuccess;
using testing::AllOf;
using testing::HasSubstr;

// What nvmlInit returns and prints.
struct InitResult {
  nvml::Return result;
  std::string err;
};

InitResult try_init() {
  testing::internal::CaptureStderr();
  const auto result = NVML(nvmlInit_v2)();
  if (result == kSuccess) NVML(nvmlShutdown)();
  return {result, testing::internal::GetCapturedStderr()};
}

std::string listing_of_first() {
  const Session session;
  return to_text(list(gpu(0)));
}

TEST(State, SurvivesItsProcesses) {
  const Setting setting("A100-40GB");
  const std::string made = in_child([] {
    const Session session;
    const Instance left = create(gpu(0), "3g.20gb@4");
    return left.uuid;
  });
  EXPECT_TRUE(made.starts_with("MIG-")) << made;
  EXPECT_EQ(in_child(listing_of_first), "9@4+4 gi2 [0:0+3]");
  const Session session;
  nvml::Device mig = nullptr;
  EXPECT_EQ(NVML(nvmlDeviceGetHandleByUUID)(made.c_str(), &mig), kSuccess);
}

TEST(State, IsSeenAtOnceByOthers) {
  const Setting setting("A100-40GB");
  Child other([](Channel& channel) {
    const Session session;
    std::string message;
    while (channel.receive(message)) channel.send(". " + to_text(list(gpu(0))));
    return 0;
  });
  const Session session;
  for (int round = 0; round < 200; ++round) {
    const Instance instance = create(gpu(0), "1g.5gb@6");
    ASSERT_EQ(other.request("?"), ". 19@6+1 gi13 [0:0+1]");
    ASSERT_EQ(destroy(instance), kSuccess);
    ASSERT_EQ(other.request("?"), ". ");
  }
}

TEST(Reset, MakesHandlesStaleEvenForTheSamePlace) {
  const Node node("[[gpu]]\nmodel = \"A100-40GB\"\ninstances = [\"4g.20gb@0\"]\n");
  const Instance old = create(gpu(0), "3g.20gb@4");
  nvml::GpuInstance preset = nullptr;
  ASSERT_EQ(NVML(nvmlDeviceGetGpuInstanceById)(gpu(0), 1, &preset), kSuccess);
  ASSERT_EQ(in_child([] { return code(NVML(tangramEmulatorReset)(nullptr)); }), "0");
  EXPECT_EQ(to_text(list(gpu(0))), "5@0+4 gi1 [0:0+4]");
  nvml::GpuInstanceInfo info{};
  EXPECT_EQ(NVML(nvmlGpuInstanceGetInfo)(preset, &info), nvml::kInvalidArgument);
  const Instance again = create(gpu(0), "3g.20gb@4");
  EXPECT_EQ(again.uuid, old.uuid);
  EXPECT_EQ(NVML(nvmlGpuInstanceGetInfo)(old.gi, &info), nvml::kInvalidArgument);
  EXPECT_EQ(NVML(nvmlComputeInstanceDestroy)(old.ci), nvml::kInvalidArgument);
  char uuid[nvml::kUuidBuffer];
  EXPECT_EQ(NVML(nvmlDeviceGetUUID)(old.mig, uuid, sizeof uuid), nvml::kInvalidArgument);
  EXPECT_EQ(NVML(nvmlGpuInstanceGetInfo)(again.gi, &info), kSuccess);
}

TEST(Reset, CanMakeAnotherNode) {
  const Node node("2xA100-40GB");
  const nvml::Device second = gpu(1);
  ASSERT_EQ(NVML(tangramEmulatorReset)("A30"), kSuccess);
  unsigned count = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetCount_v2)(&count), kSuccess);
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(name_of(gpu(0)), "NVIDIA A30");
  unsigned mode = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetMigMode)(second, &mode, &mode), nvml::kInvalidArgument);
  ASSERT_EQ(NVML(tangramEmulatorReset)("3xH100-80GB"), kSuccess);
  EXPECT_EQ(NVML(nvmlDeviceGetMigMode)(second, &mode, &mode), kSuccess);
  EXPECT_EQ(NVML(tangramEmulatorReset)("3xNothing"), nvml::kInvalidArgument);
  EXPECT_THAT(control_error(), HasSubstr("Nothing"));
  EXPECT_EQ(NVML(nvmlDeviceGetCount_v2)(&count), kSuccess);
  EXPECT_EQ(count, 3U);
}

TEST(Reset, NeedsAStateFile) {
  const Setting setting("");
  EXPECT_EQ(NVML(tangramEmulatorReset)(nullptr), nvml::kDriverNotLoaded);
  EXPECT_THAT(control_error(), AllOf(HasSubstr("not found"), HasSubstr("TANGRAM_EMULATE")));
  EXPECT_EQ(NVML(tangramEmulatorReset)("A30"), kSuccess) << "makes one";
  EXPECT_EQ(try_init().result, kSuccess) << "and needs no description then";
}

TEST(OtherFiles, OfAnotherDescriptionAreRefused) {
  const Setting setting("2xA100-40GB");
  EXPECT_EQ(try_init().result, kSuccess);
  setting.describe("4xA30");
  const InitResult result = try_init();
  EXPECT_EQ(result.result, nvml::kDriverNotLoaded);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("tangram emulator: the state file"),
                    HasSubstr("another node ('2xA100-40GB')"), HasSubstr("tangram emulate reset")));
  setting.describe("");
  EXPECT_EQ(try_init().result, kSuccess) << "without a description any node will do";
}

TEST(OtherFiles, WithoutFileOrDescriptionThereIsNoDriver) {
  const Setting setting("");
  const InitResult result = try_init();
  EXPECT_EQ(result.result, nvml::kDriverNotLoaded);
  EXPECT_THAT(result.err, HasSubstr("TANGRAM_EMULATE=4xA100-40GB"));
  EXPECT_FALSE(setting.folder().has("state"));
}

// The bytes of a node's state file.
std::string made_state(const Setting& setting) {
  EXPECT_EQ(try_init().result, kSuccess);
  std::string bytes = setting.folder().read("state");
  std::filesystem::remove(setting.state());
  return bytes;
}

TEST(OtherFiles, GarbageIsRefused) {
  const Setting setting("A30");
  const std::string good = made_state(setting);
  std::string other_version = good;
  other_version[8] = 77;
  const std::vector<std::string> bad = {"",
                                        "x",
                                        std::string(100, '\0'),
                                        good.substr(0, good.size() - 1),
                                        good.substr(0, 4096),
                                        good + "x",
                                        std::string(good.size(), '\0'),
                                        std::string(good.size(), '\xff'),
                                        other_version};
  for (const std::string& bytes : bad) {
    setting.folder().write("state", bytes);
    const InitResult result = try_init();
    EXPECT_EQ(result.result, nvml::kDriverNotLoaded) << bytes.size();
    EXPECT_THAT(result.err, HasSubstr("is not a state file of this version of the emulator"));
    EXPECT_EQ(setting.folder().read("state"), bytes) << "and is not touched";
  }
  setting.folder().write("state", good);
  EXPECT_EQ(try_init().result, kSuccess);
}

// A valid header and garbage behind it: rejected, without a crash.
TEST(OtherFiles, GarbageBehindAGoodHeadIsRefused) {
  const Setting setting("");
  setting.describe("A30");
  const std::string good = made_state(setting);
  setting.describe("");
  constexpr std::size_t kBehindTheLock = 104;
  for (const char filler : {'\x01', '\x7f', '\xff'}) {
    std::string bytes = good;
    std::fill(bytes.begin() + kBehindTheLock, bytes.end(), filler);
    setting.folder().write("state", bytes);
    const std::string result = in_child([] {
      const InitResult answer = try_init();
      return code(answer.result) + answer.err;
    });
    EXPECT_THAT(result, AllOf(testing::StartsWith("9"), HasSubstr("is not a state file")))
        << filler;
  }
}

TEST(OtherFiles, PlacesThatCannotBeUsedAreRefused) {
  const Setting setting("A30");
  setenv("TANGRAM_EMULATOR_STATE", setting.folder().at("none/state").c_str(), 1);
  InitResult result = try_init();
  EXPECT_EQ(result.result, nvml::kDriverNotLoaded);
  EXPECT_THAT(result.err, AllOf(HasSubstr("cannot create the state file"),
                                HasSubstr("Set TANGRAM_EMULATOR_STATE to a file")));
  setenv("TANGRAM_EMULATOR_STATE", setting.folder().at("").c_str(), 1);
  result = try_init();
  EXPECT_EQ(result.result, nvml::kDriverNotLoaded);
  EXPECT_THAT(result.err, HasSubstr("cannot open the state file"));
  setenv("TANGRAM_EMULATOR_STATE", "/dev/null", 1);
  EXPECT_EQ(try_init().result, nvml::kDriverNotLoaded);
  setenv("TANGRAM_EMULATOR_LATENCY", "soon", 1);
  EXPECT_THAT(try_init().err, HasSubstr("TANGRAM_EMULATOR_LATENCY is 'soon'"));
}

TEST(TwoMakers, GetOneNode) {
  for (int round = 0; round < 100; ++round) {
    const Setting setting("A100-40GB");
    const auto make = [](Channel& channel) {
      std::string go;
      channel.send("ready");
      if (!channel.receive(go)) return 1;
      const Session session;
      nvml::GpuInstance gi = nullptr;
      const unsigned id = profile_id(gpu(0), "1g.5gb");
      return NVML(nvmlDeviceCreateGpuInstance)(gpu(0), id, &gi) == kSuccess ? 0 : 2;
    };
    Child first(make);
    Child second(make);
    ASSERT_EQ(first.channel().receive(), "ready");
    ASSERT_EQ(second.channel().receive(), "ready");
    first.channel().send("go");
    second.channel().send("go");
    ASSERT_EQ(first.wait(), 0);
    ASSERT_EQ(second.wait(), 0);
    const Session session;
    ASSERT_EQ(list(gpu(0)).size(), 2U) << "round " << round;
    const auto files = std::filesystem::directory_iterator(setting.folder().at(""));
    ASSERT_EQ(std::distance(files, {}), 1) << "nothing is left beside the state file";
  }
}

TEST(AnotherBoot, IsAReboot) {
  const Setting setting("A100-40GB,H100-80GB");
  ASSERT_THAT(in_child([] {
                const Session session;
                return create(gpu(0), "3g.20gb@4").uuid + create(gpu(1), "3g.40gb@4").uuid;
              }),
              HasSubstr("MIG-"));
  std::string bytes = setting.folder().read("state");
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  const std::size_t place = bytes.find(boot);
  ASSERT_NE(place, std::string::npos);
  bytes[place] = bytes[place] == '0' ? '1' : '0';
  std::fstream(setting.state(), std::ios::in | std::ios::out | std::ios::binary) << bytes;
  const std::string after = in_child([] {
    const Session session;
    const std::string first = to_text(list(gpu(0)));
    return cat(first, ".", mig_mode(gpu(0)).first, mig_mode(gpu(1)).first);
  });
  EXPECT_EQ(after, ".10") << "instances are gone; Ampere keeps its mode, Hopper does not";
  EXPECT_EQ(setting.folder().read("state").find(boot), place) << "and only once";
}

}  // namespace
}  // namespace tangram::tests
