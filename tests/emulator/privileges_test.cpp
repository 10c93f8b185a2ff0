// Rights: the owner of the state file may change the node, others may read; with privileges =
// "root" only root may change it, as on hardware. Switching users needs root; skipped otherwise.
#include <filesystem>
#include <functional>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "child.hpp"
#include "listing.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

using testing::HasSubstr;

constexpr unsigned kNobody = 65534;

class Privileges : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    // Loaded now: another user may not be able to read the library's folder.
    ASSERT_NE(find_symbol("nvmlInit_v2"), nullptr);
  }

  static void open_to_all(const Setting& setting) {
    std::filesystem::permissions(setting.folder().at(""), std::filesystem::perms::all);
  }

  // Runs a function as another user and returns its result.
  static std::string as_nobody(const std::function<std::string()>& work) {
    return in_child([&]() -> std::string {
      if (setgid(kNobody) != 0 || setuid(kNobody) != 0) return "cannot become nobody";
      return work();
    });
  }
};

// Calls functions that need no privilege; returns their codes.
std::string look() {
  const Session session;
  unsigned count = 0;
  unsigned mode = 0;
  nvml::Device mig = nullptr;
  nvml::Memory memory{};
  nvml::GiProfileInfo profile{};
  std::string all;
  all += code(NVML(nvmlDeviceGetCount_v2)(&count));
  all += code(NVML(nvmlDeviceGetMigMode)(gpu(0), &mode, &mode));
  all += code(NVML(nvmlDeviceGetGpuInstanceProfileInfo)(gpu(0), 0, &profile));
  all += code(NVML(nvmlDeviceGetMigDeviceHandleByIndex)(gpu(0), 0, &mig));
  all += code(NVML(nvmlDeviceGetMemoryInfo)(mig, &memory));
  all += code(NVML(nvmlDeviceGetMemoryInfo)(gpu(0), &memory));
  all += code(NVML(nvmlDeviceGetComputeRunningProcesses_v3)(mig, &count, nullptr));
  return all + " " + uuid_of(mig);
}

std::string create_one() {
  const Session session;
  return create(gpu(0), "3g.20gb@4").uuid;
}

// Calls all functions that need one.
std::string change() {
  const Session session;
  std::string all;
  unsigned count = 0;
  nvml::Return activation = nvml::kSuccess;
  nvml::GpuInstance gi = nullptr;
  const unsigned id = profile_id(gpu(0), "1g.5gb");
  const nvml::Placement place{0, 1};
  nvml::GpuInstance list[8]{};
  nvml::ProcessDetailList details{nvml::version_of<nvml::ProcessDetailList>(1), 0, 0, nullptr};
  all += code(NVML(nvmlDeviceCreateGpuInstance)(gpu(0), id, &gi));
  all += code(NVML(nvmlDeviceCreateGpuInstanceWithPlacement)(gpu(0), id, &place, &gi));
  all += code(NVML(nvmlDeviceSetMigMode)(gpu(0), 0, &activation));
  all += code(NVML(nvmlDeviceGetGpuInstanceRemainingCapacity)(gpu(0), id, &count));
  all += code(NVML(nvmlDeviceGetGpuInstances)(gpu(0), id, list, &count));
  all += code(NVML(nvmlDeviceGetGpuInstanceById)(gpu(0), 2, &gi));
  all += code(NVML(nvmlDeviceGetComputeRunningProcesses_v3)(gpu(0), &count, nullptr));
  all += code(NVML(nvmlDeviceGetRunningProcessDetailList)(gpu(1), &details));
  return all;
}

TEST_F(Privileges, OthersMayLookButNotChange) {
  const Setting setting("A100-40GB,H100-80GB");
  open_to_all(setting);
  const std::string uuid = in_child(create_one);
  EXPECT_EQ(as_nobody(look), "0000000 " + uuid);
  EXPECT_EQ(as_nobody(change), "44444444");
  EXPECT_EQ(
      as_nobody([] {
        const std::string result = code(NVML(tangramEmulatorReboot)());
        return result + control_error();
      }),
      "4no write permission on '" + setting.state() + "', the state file of the emulated node.");
  const Session session;
  EXPECT_EQ(to_text(list(gpu(0))), "9@4+4 gi2 [0:0+3]");
}

// A client that cannot write takes no lock, and still receives events.
TEST_F(Privileges, OthersSeeEventsAndFaults) {
  const Setting setting("A100-40GB");
  open_to_all(setting);
  ASSERT_EQ(in_child([] {
              return code(NVML(tangramEmulatorFault)("nvmlDeviceGetBrand=TIMEOUT", 0, 1, 100));
            }),
            "0");
  Child other([](Channel& channel) {
    if (setuid(kNobody) != 0) return 1;
    const Session session;
    nvml::EventSet set = nullptr;
    NVML(nvmlEventSetCreate)(&set);
    NVML(nvmlDeviceRegisterEvents)(gpu(0), nvml::kEventXid, set);
    unsigned brand = 0;
    channel.send(code(NVML(nvmlDeviceGetBrand)(gpu(0), &brand)));
    nvml::EventData data{};
    const auto result = NVML(nvmlEventSetWait_v2)(set, &data, 20'000);
    channel.send(code(result) + " " + std::to_string(data.event_data));
    return 0;
  });
  EXPECT_EQ(other.channel().receive(), "10");
  const Session session;
  ASSERT_EQ(NVML(tangramEmulatorXid)(0, 43, 0, 0), nvml::kSuccess);
  EXPECT_EQ(other.channel().receive(), "0 43");
}

TEST_F(Privileges, OfRootAreNotTheOwners) {
  const Setting setting(
      "privileges = \"root\"\n[[gpu]]\nmodel = \"A100-40GB\"\n[[gpu]]\nmodel = \"H100-80GB\"\n");
  open_to_all(setting);
  EXPECT_EQ(as_nobody(change), "44444444") << "nobody made the file and owns it";
  const std::string uuid = in_child(create_one);
  EXPECT_EQ(as_nobody(look), "0000040 " + uuid) << "nor may it see the whole memory";
}

TEST_F(Privileges, OfTheOwnerAreEnough) {
  const Setting setting("A100-40GB");
  open_to_all(setting);
  EXPECT_THAT(as_nobody(create_one), HasSubstr("MIG-"));
}

// Jobs of other users may register themselves; instances stay the owner's.
TEST_F(Privileges, OfOthersOnASharedNodeAreTheControlFunctions) {
  const Setting setting("shared = true\n[[gpu]]\nmodel = \"A100-40GB\"\n");
  open_to_all(setting);
  const std::string uuid = in_child(create_one);
  EXPECT_EQ(as_nobody([&] {
              const auto self = static_cast<unsigned>(getpid());
              std::string all = code(NVML(tangramEmulatorRegister)(uuid.c_str(), self, 1));
              all += code(NVML(tangramEmulatorDemand)(uuid.c_str(), self, 1, 1));
              const Session session;
              nvml::GpuInstance gi = nullptr;
              return all + code(NVML(nvmlDeviceCreateGpuInstance)(gpu(0), 19, &gi));
            }),
            "004");
}

TEST_F(Privileges, AFileThatMayNotBeReadIsRefused) {
  const Setting setting("A100-40GB");
  open_to_all(setting);
  EXPECT_EQ(in_child([] { return code(NVML(nvmlInit_v2)()); }), "0");
  std::filesystem::permissions(setting.state(), std::filesystem::perms::none);
  const std::string output = as_nobody([] {
    testing::internal::CaptureStderr();
    const auto result = NVML(nvmlInit_v2)();
    return code(result) + testing::internal::GetCapturedStderr();
  });
  EXPECT_THAT(output, testing::StartsWith("9tangram emulator: cannot open the state file"));
  EXPECT_THAT(output, HasSubstr("Permission denied"));
}

}  // namespace
}  // namespace tangram::tests
