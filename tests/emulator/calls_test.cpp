// What all calls have in common, and the calls that have no test file of their own: results before
// init, null pointers, handles of the wrong kind, versions of structs, the identity of a device.
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

using nvml::kInvalidArgument;
using nvml::kSuccess;

TEST(Calls, NeedInitAndCountIt) {
  const Setting setting("A100-40GB");
  unsigned count = 0;
  nvml::Device device = nullptr;
  EXPECT_EQ(NVML(nvmlDeviceGetCount_v2)(&count), nvml::kUninitialized);
  EXPECT_EQ(NVML(nvmlDeviceGetHandleByIndex_v2)(0, nullptr), nvml::kUninitialized);
  EXPECT_EQ(NVML(nvmlDeviceGetMigMode)(nullptr, nullptr, nullptr), nvml::kUninitialized);
  EXPECT_EQ(NVML(nvmlDeviceCreateGpuInstanceWithPlacement)(nullptr, 0, nullptr, nullptr),
            nvml::kUninitialized);
  EXPECT_EQ(NVML(nvmlShutdown)(), nvml::kUninitialized);
  ASSERT_EQ(NVML(nvmlInit)(), kSuccess);
  ASSERT_EQ(NVML(nvmlInitWithFlags)(nvml::kInitNoGpus), kSuccess);
  EXPECT_EQ(NVML(nvmlShutdown)(), kSuccess);
  EXPECT_EQ(NVML(nvmlDeviceGetHandleByIndex_v2)(0, &device), kSuccess) << "used once more";
  EXPECT_EQ(NVML(nvmlShutdown)(), kSuccess);
  EXPECT_EQ(NVML(nvmlDeviceGetHandleByIndex_v2)(0, &device), nvml::kUninitialized);
}

TEST(Calls, RefuseNullPointersAndInvalidHandles) {
  const Node node("A100-40GB");
  const Instance instance = create(gpu(0), "3g.20gb@4");
  const nvml::Device device = gpu(0);
  unsigned n = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetCount_v2)(nullptr), kInvalidArgument);
  EXPECT_EQ(NVML(nvmlDeviceGetHandleByIndex_v2)(0, nullptr), kInvalidArgument);
  EXPECT_EQ(NVML(nvmlDeviceGetHandleByUUID)(nullptr, nullptr), kInvalidArgument);
  EXPECT_EQ(NVML(nvmlDeviceGetUUID)(device, nullptr, 80), kInvalidArgument);
  EXPECT_EQ(NVML(nvmlDeviceGetMemoryInfo)(device, nullptr), kInvalidArgument);
  EXPECT_EQ(NVML(nvmlDeviceGetMigMode)(device, &n, nullptr), kInvalidArgument);
  EXPECT_EQ(NVML(nvmlDeviceCreateGpuInstance)(device, 19, nullptr), kInvalidArgument);
  EXPECT_EQ(NVML(nvmlGpuInstanceGetInfo)(instance.gi, nullptr), kInvalidArgument);
  EXPECT_EQ(NVML(nvmlComputeInstanceGetInfo_v2)(instance.ci, nullptr), kInvalidArgument);
  for (const std::uintptr_t bits : {0UL, 1UL, 0x1234UL, ~0UL}) {
    EXPECT_EQ(NVML(nvmlDeviceGetIndex)(reinterpret_cast<nvml::Device>(bits), &n), kInvalidArgument);
    EXPECT_EQ(NVML(nvmlGpuInstanceDestroy)(reinterpret_cast<nvml::GpuInstance>(bits)),
              kInvalidArgument);
    EXPECT_EQ(NVML(nvmlComputeInstanceDestroy)(reinterpret_cast<nvml::ComputeInstance>(bits)),
              kInvalidArgument);
  }
}

// Handles of GPUs, MIG devices and instances are not interchangeable.
TEST(Calls, DistinguishHandles) {
  const Node node("A100-40GB");
  const Instance instance = create(gpu(0), "3g.20gb@4");
  unsigned n = 0;
  nvml::Device device = nullptr;
  EXPECT_EQ(NVML(nvmlDeviceGetMigMode)(instance.mig, &n, &n), kInvalidArgument);
  EXPECT_EQ(NVML(nvmlDeviceGetGpuInstanceId)(gpu(0), &n), kInvalidArgument);
  EXPECT_EQ(NVML(nvmlDeviceGetDeviceHandleFromMigDeviceHandle)(gpu(0), &device), kInvalidArgument);
  EXPECT_EQ(NVML(nvmlDeviceGetIndex)(reinterpret_cast<nvml::Device>(instance.gi), &n),
            kInvalidArgument);
  EXPECT_EQ(NVML(nvmlGpuInstanceDestroy)(reinterpret_cast<nvml::GpuInstance>(instance.ci)),
            kInvalidArgument);
  nvml::DeviceAttributes attributes{};
  EXPECT_EQ(NVML(nvmlDeviceGetAttributes_v2)(gpu(0), &attributes), nvml::kNotSupported);
  EXPECT_EQ(NVML(nvmlDeviceIsMigDeviceHandle)(gpu(0), &n), kSuccess);
  EXPECT_EQ(n, 0U);
  nvml::GpuInstance gi = nullptr;
  nvml::ComputeInstance ci = nullptr;
  EXPECT_EQ(NVML(nvmlDeviceGetGpuInstanceById)(gpu(0), 1, &gi), nvml::kNotFound);
  EXPECT_EQ(NVML(nvmlDeviceGetGpuInstanceById)(gpu(0), 99, &gi), nvml::kNotFound);
  EXPECT_EQ(NVML(nvmlGpuInstanceGetComputeInstanceById)(instance.gi, 1, &ci), nvml::kNotFound);
  EXPECT_EQ(NVML(nvmlGpuInstanceGetComputeInstanceById)(instance.gi, 0, &ci), kSuccess);
  EXPECT_EQ(ci, instance.ci);
}

TEST(Creation, RefusesWhatIsNoPlacement) {
  const Node node("A100-40GB");
  const nvml::Device device = gpu(0);
  nvml::GpuInstance gi = nullptr;
  const auto create_at = [&](unsigned id, nvml::Placement place) {
    return NVML(nvmlDeviceCreateGpuInstanceWithPlacement)(device, id, &place, &gi);
  };
  EXPECT_EQ(create_at(19, {0, 2}), kInvalidArgument);
  EXPECT_EQ(create_at(19, {7, 1}), kInvalidArgument) << "the eighth slice has no compute";
  EXPECT_EQ(create_at(9, {2, 4}), kInvalidArgument);
  EXPECT_EQ(create_at(9, {0xFFFFFFFF, 4}), kInvalidArgument);
  EXPECT_EQ(create_at(1000, {0, 1}), kInvalidArgument);
  EXPECT_EQ(NVML(nvmlDeviceCreateGpuInstanceWithPlacement)(device, 19, nullptr, &gi),
            kInvalidArgument);
  ASSERT_EQ(create_at(9, {4, 4}), kSuccess);
  nvml::ComputeInstance ci = nullptr;
  nvml::Placement place{1, 2};
  const auto compute_at = [&](unsigned id) {
    return NVML(nvmlGpuInstanceCreateComputeInstanceWithPlacement)(gi, id, &place, &ci);
  };
  EXPECT_EQ(compute_at(1), kInvalidArgument) << "pairs are aligned";
  place = {0, 1};
  EXPECT_EQ(compute_at(1), kInvalidArgument);
  EXPECT_EQ(compute_at(3), kInvalidArgument) << "no four in three";
  EXPECT_EQ(compute_at(0), kSuccess);
  EXPECT_EQ(compute_at(0), nvml::kInsufficientResources);
  EXPECT_EQ(NVML(nvmlGpuInstanceCreateComputeInstance)(gi, 2, &ci), nvml::kInsufficientResources);
}

// Split sizes as hardware lists them.
TEST(ComputeProfiles, AreThoseThatWereSeen) {
  const Node node("A100-40GB");
  const auto profiles = [](const char* profile) {
    nvml::GpuInstance gi = nullptr;
    EXPECT_EQ(create_gi(gpu(0), profile, 0, gi), kSuccess);
    std::string text;
    for (unsigned number = 0; number < nvml::kCiProfileCount; ++number) {
      nvml::CiProfileInfo info{};
      const auto result = NVML(nvmlGpuInstanceGetComputeInstanceProfileInfo)(gi, number, 0, &info);
      if (result == nvml::kNotSupported) continue;
      EXPECT_EQ(result, kSuccess);
      unsigned remaining = 0;
      unsigned places = 0;
      EXPECT_EQ(NVML(nvmlGpuInstanceGetComputeInstanceRemainingCapacity)(gi, info.id, &remaining),
                kSuccess);
      EXPECT_EQ(
          NVML(nvmlGpuInstanceGetComputeInstancePossiblePlacements)(gi, info.id, nullptr, &places),
          kSuccess);
      EXPECT_EQ(remaining, info.instance_count);
      EXPECT_EQ(places, info.instance_count);
      text += cat(info.slice_count, "c x", info.instance_count, " ");
    }
    nvml::CiProfileInfo info{};
    EXPECT_EQ(NVML(nvmlGpuInstanceGetComputeInstanceProfileInfo)(gi, 9, 0, &info),
              kInvalidArgument);
    EXPECT_EQ(NVML(nvmlGpuInstanceGetComputeInstanceProfileInfo)(gi, 0, 1, &info),
              kInvalidArgument);
    EXPECT_EQ(NVML(nvmlGpuInstanceDestroy)(gi), kSuccess);
    return text;
  };
  EXPECT_EQ(profiles("1g.5gb"), "1c x1 ");
  EXPECT_EQ(profiles("2g.10gb"), "1c x2 2c x1 ");
  EXPECT_EQ(profiles("3g.20gb"), "1c x3 2c x1 3c x1 ");
  EXPECT_EQ(profiles("4g.20gb"), "1c x4 2c x2 4c x1 ");
  EXPECT_EQ(profiles("7g.40gb"), "1c x7 2c x3 3c x2 4c x1 7c x1 ");
}

TEST(Versions, ThatAreUnknownAreRefused) {
  const Node node("H100-80GB");
  const Instance instance = create(gpu(0), "3g.40gb@4");
  nvml::GiProfileInfoV2 profile{};
  EXPECT_EQ(NVML(nvmlDeviceGetGpuInstanceProfileInfoV)(gpu(0), 0, &profile), kInvalidArgument);
  nvml::CiProfileInfoV2 compute{};
  EXPECT_EQ(NVML(nvmlGpuInstanceGetComputeInstanceProfileInfoV)(instance.gi, 0, 0, &compute),
            kInvalidArgument);
  nvml::MemoryV2 memory{};
  EXPECT_EQ(NVML(nvmlDeviceGetMemoryInfo_v2)(gpu(0), &memory), nvml::kArgumentVersionMismatch);
  nvml::PciInfoExt pci{};
  EXPECT_EQ(NVML(nvmlDeviceGetPciInfoExt)(gpu(0), &pci), nvml::kArgumentVersionMismatch);
  nvml::ProcessDetailList list{};
  EXPECT_EQ(NVML(nvmlDeviceGetRunningProcessDetailList)(gpu(0), &list),
            nvml::kArgumentVersionMismatch);
  nvml::Uuid uuid{};
  nvml::Device device = nullptr;
  EXPECT_EQ(NVML(nvmlDeviceGetHandleByUUIDV)(&uuid, &device), nvml::kArgumentVersionMismatch);
  nvml::GiProfileInfo old{};
  EXPECT_EQ(NVML(nvmlDeviceGetGpuInstanceProfileInfo)(gpu(0), nvml::kGiProfileCount, &old),
            kInvalidArgument);
  EXPECT_EQ(NVML(nvmlDeviceGetGpuInstanceProfileInfo)(gpu(0), 5, &old), nvml::kNotSupported);
}

TEST(Memory, AddsUpInBothVersions) {
  const Node node("A100-40GB");
  nvml::Memory first{};
  ASSERT_EQ(NVML(nvmlDeviceGetMemoryInfo)(gpu(0), &first), kSuccess);
  EXPECT_EQ(first.total >> 20U, 40960U);
  EXPECT_EQ(first.used >> 20U, 518U) << "what the driver keeps counts as used";
  EXPECT_EQ(first.free + first.used, first.total);
  nvml::MemoryV2 second{};
  second.version = nvml::version_of<nvml::MemoryV2>(2);
  ASSERT_EQ(NVML(nvmlDeviceGetMemoryInfo_v2)(gpu(0), &second), kSuccess);
  EXPECT_EQ(second.total, second.reserved + second.used + second.free);
  EXPECT_EQ(second.reserved >> 20U, 518U);
  const Instance instance = create(gpu(0), "3g.20gb@4");
  nvml::Bar1Memory bar1{};
  ASSERT_EQ(NVML(nvmlDeviceGetBAR1MemoryInfo)(instance.mig, &bar1), kSuccess);
  EXPECT_EQ(bar1.total >> 20U, 32768U);
}

TEST(Devices, AreFoundByEveryName) {
  const Node node("3xA100-40GB");
  const Instance instance = create(gpu(1), "3g.20gb@4");
  nvml::Device found = nullptr;
  for (const char* bus :
       {"00000000:0E:00.0", "0000:0e:00.0", "0E:00.0", "00000000:0E:00", "0000:0E:00"}) {
    found = nullptr;
    EXPECT_EQ(NVML(nvmlDeviceGetHandleByPciBusId_v2)(bus, &found), kSuccess) << bus;
    EXPECT_EQ(found, gpu(1)) << bus;
  }
  EXPECT_EQ(NVML(nvmlDeviceGetHandleByPciBusId_v2)("00000000:FF:00.0", &found), nvml::kNotFound);
  EXPECT_EQ(NVML(nvmlDeviceGetHandleByPciBusId_v2)("nonsense", &found), kInvalidArgument);
  char serial[30];
  ASSERT_EQ(NVML(nvmlDeviceGetSerial)(gpu(2), serial, sizeof serial), kSuccess);
  EXPECT_EQ(NVML(nvmlDeviceGetHandleBySerial)(serial, &found), kSuccess);
  EXPECT_EQ(found, gpu(2));
  const std::string old_form = cat("MIG-", uuid_of(gpu(1)), "/2/0");
  EXPECT_EQ(NVML(nvmlDeviceGetHandleByUUID)(old_form.c_str(), &found), kSuccess);
  EXPECT_EQ(found, instance.mig);
  nvml::Uuid uuid{};
  uuid.version = nvml::version_of<nvml::Uuid>(1);
  uuid.type = 1;
  std::strcpy(uuid.value, instance.uuid.c_str());
  EXPECT_EQ(NVML(nvmlDeviceGetHandleByUUIDV)(&uuid, &found), kSuccess);
  EXPECT_EQ(found, instance.mig);
  uuid.type = 2;  // sixteen bytes
  std::string digits = instance.uuid.substr(4);
  std::erase(digits, '-');
  for (std::size_t i = 0; i < 16; ++i) {
    uuid.value[i] = static_cast<char>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  }
  found = nullptr;
  EXPECT_EQ(NVML(nvmlDeviceGetHandleByUUIDV)(&uuid, &found), kSuccess);
  EXPECT_EQ(found, instance.mig);
}

TEST(Devices, ReportTheirIdentity) {
  const Node node("A100-40GB,H100-80GB");
  nvml::PciInfo pci{};
  ASSERT_EQ(NVML(nvmlDeviceGetPciInfo_v3)(gpu(0), &pci), kSuccess);
  EXPECT_STREQ(pci.bus_id, "00000000:07:00.0");
  EXPECT_STREQ(pci.bus_id_legacy, "0000:07:00.0");
  EXPECT_EQ(pci.pci_device_id, 0x20B010DEU);
  unsigned n = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetMinorNumber)(gpu(1), &n), kSuccess);
  EXPECT_EQ(n, 1U);
  int major = 0;
  int minor = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetCudaComputeCapability)(gpu(1), &major, &minor), kSuccess);
  EXPECT_EQ(major * 10 + minor, 90);
  EXPECT_EQ(NVML(nvmlDeviceGetMaxPcieLinkGeneration)(gpu(1), &n), kSuccess);
  EXPECT_EQ(n, 5U);
  char name[8];
  EXPECT_EQ(NVML(nvmlDeviceGetName)(gpu(0), name, sizeof name), nvml::kInsufficientSize);
  char process[64];
  EXPECT_EQ(NVML(nvmlSystemGetProcessName)(static_cast<unsigned>(getpid()), process, 64), kSuccess);
  EXPECT_NE(std::string(process).find("emulator_test"), std::string::npos) << process;
  EXPECT_EQ(NVML(nvmlSystemGetProcessName)(0x7FFFFFFF, process, 64), nvml::kNotFound);
}

// What is not available in MIG mode on hardware.
TEST(Telemetry, LosesUtilizationInMigMode) {
  const Node node("[[gpu]]\nmodel = \"A100-40GB\"\n[[gpu]]\nmodel = \"A100-40GB\"\nmig = false\n");
  nvml::Utilization utilization{};
  unsigned n = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetUtilizationRates)(gpu(0), &utilization), nvml::kNotSupported);
  EXPECT_EQ(NVML(nvmlDeviceGetUtilizationRates)(gpu(1), &utilization), kSuccess);
  EXPECT_EQ(NVML(nvmlDeviceGetNumGpuCores)(gpu(0), &n), nvml::kNotSupported);
  EXPECT_EQ(NVML(nvmlDeviceGetNumGpuCores)(gpu(1), &n), kSuccess);
  for (const unsigned i : {0U, 1U}) {
    EXPECT_EQ(NVML(nvmlDeviceGetTemperature)(gpu(i), 0, &n), kSuccess);
    EXPECT_EQ(NVML(nvmlDeviceGetPowerUsage)(gpu(i), &n), kSuccess);
    EXPECT_EQ(NVML(nvmlDeviceGetClockInfo)(gpu(i), 0, &n), kSuccess);
    EXPECT_EQ(NVML(nvmlDeviceGetClockInfo)(gpu(i), 9, &n), kInvalidArgument);
  }
}

// The first version of PossiblePlacements cannot return more placements than instances fit.
TEST(Placements, OfTheOldFormHaveLimits) {
  const Node node("A100-40GB");
  unsigned count = 0;
  nvml::Placement all[8]{};
  const unsigned media = profile_id(gpu(0), "1g.5gb+me");
  EXPECT_EQ(NVML(nvmlDeviceGetGpuInstancePossiblePlacements)(gpu(0), 19, all, &count), kSuccess);
  EXPECT_EQ(count, 7U);
  EXPECT_EQ(NVML(nvmlDeviceGetGpuInstancePossiblePlacements)(gpu(0), media, all, &count),
            nvml::kNotSupported);
  EXPECT_EQ(NVML(nvmlDeviceGetGpuInstancePossiblePlacements_v2)(gpu(0), media, all, &count),
            kSuccess);
  EXPECT_EQ(count, 7U);
}

TEST(ErrorStrings, AreTheDrivers) {
  EXPECT_STREQ(NVML(nvmlErrorString)(nvml::kInUse), "In use by another client");
  EXPECT_STREQ(NVML(nvmlErrorString)(nvml::kInsufficientResources), "Insufficient Resources");
  EXPECT_STREQ(NVML(nvmlErrorString)(static_cast<nvml::Return>(1234)), "Unknown Error");
}

}  // namespace
}  // namespace tangram::tests
