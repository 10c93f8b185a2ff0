// Injected faults apply to the requested calls only, as often as requested.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
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
using std::chrono::milliseconds;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

nvml::Return inject(const char* fault, int gpu = -1, unsigned times = 0, unsigned percent = 100) {
  return NVML(tangramEmulatorFault)(fault, gpu, times, percent);
}

nvml::Return read_mode(nvml::Device device) {
  unsigned mode = 0;
  return NVML(nvmlDeviceGetMigMode)(device, &mode, &mode);
}

TEST(Faults, ApplyAsOftenAsRequested) {
  const Node node("A100-40GB");
  const nvml::Device device = gpu(0);
  ASSERT_EQ(inject("nvmlDeviceGetMigMode=IN_USE", -1, 3), kSuccess);
  std::vector<nvml::Return> seen;
  for (int i = 0; i < 5; ++i) seen.push_back(read_mode(device));
  EXPECT_EQ(seen, (std::vector{nvml::kInUse, nvml::kInUse, nvml::kInUse, kSuccess, kSuccess}));
  ASSERT_EQ(inject("nvmlDeviceGetMigMode=GPU_IS_LOST"), kSuccess);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(read_mode(device), nvml::kGpuIsLost);
  ASSERT_EQ(NVML(tangramEmulatorClearFaults)(), kSuccess);
  EXPECT_EQ(read_mode(device), kSuccess);
}

TEST(Faults, ApplyToOneGpu) {
  const Node node("2xA100-40GB");
  ASSERT_EQ(inject("nvmlDeviceGetMigMode=TIMEOUT", 1), kSuccess);
  EXPECT_EQ(read_mode(gpu(0)), kSuccess);
  EXPECT_EQ(read_mode(gpu(1)), nvml::kTimeout);
}

TEST(Faults, ApplyToOneCallOrToAllOnAGpu) {
  const Node node("2xA100-40GB");
  const nvml::Device device = gpu(0);
  ASSERT_EQ(inject("*=UNKNOWN", 0), kSuccess);
  EXPECT_EQ(read_mode(device), nvml::kUnknown);
  unsigned count = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetIndex)(device, &count), nvml::kUnknown);
  EXPECT_EQ(read_mode(gpu(1)), kSuccess);
  EXPECT_EQ(NVML(nvmlDeviceGetCount_v2)(&count), kSuccess) << "is on no GPU";
  ASSERT_EQ(inject("nvmlDeviceGetCount=UNKNOWN"), kSuccess);
  EXPECT_EQ(NVML(nvmlDeviceGetCount_v2)(&count), nvml::kUnknown) << "any version of it";
}

TEST(Faults, ApplyByChanceAndReproducibly) {
  std::vector<std::string> runs;
  for (int run = 0; run < 2; ++run) {
    const Node node("A100-40GB");
    const nvml::Device device = gpu(0);
    ASSERT_EQ(inject("nvmlDeviceGetMigMode=IN_USE", -1, 0, 30), kSuccess);
    std::string seen;
    for (int i = 0; i < 1000; ++i) seen += read_mode(device) == kSuccess ? '.' : 'x';
    const auto hits = std::ranges::count(seen, 'x');
    EXPECT_GT(hits, 230);
    EXPECT_LT(hits, 370);
    runs.push_back(seen);
  }
  EXPECT_EQ(runs[0], runs[1]);
}

TEST(Faults, AreSharedByAllProcesses) {
  const Node node("A100-40GB");
  ASSERT_EQ(inject("nvmlDeviceGetMigMode=IN_USE", -1, 2), kSuccess);
  EXPECT_EQ(in_child([] { return code(read_mode(gpu(0))); }), "19");
  EXPECT_EQ(read_mode(gpu(0)), nvml::kInUse);
  EXPECT_EQ(in_child([] { return code(read_mode(gpu(0))); }), "0");
}

TEST(Faults, HangAtLeastThatLongAndThenDoTheWork) {
  const Node node("A100-40GB");
  ASSERT_EQ(inject("nvmlDeviceGetMigMode=hang:80", -1, 1), kSuccess);
  const auto begin = Clock::now();
  EXPECT_EQ(mig_mode(gpu(0)).first, 1U);
  EXPECT_GE(Clock::now() - begin, milliseconds(80));
  EXPECT_EQ(status().find("hang"), std::string::npos) << "it was used up";
}

// A call that hangs delays no other call.
TEST(Faults, HangAlone) {
  const Node node("A100-40GB");
  ASSERT_EQ(inject("nvmlDeviceCreateGpuInstanceWithPlacement=hang:3600000", -1, 1), kSuccess);
  Child stuck([](Channel& channel) {
    channel.send("calling");
    nvml::GpuInstance gi = nullptr;
    return create_gi(gpu(0), "1g.5gb", 0, gi) == kSuccess ? 0 : 1;
  });
  ASSERT_EQ(stuck.channel().receive(), "calling");
  while (status().find("hang") != std::string::npos) {  // until the call has used it up
  }
  const Instance instance = create(gpu(0), "3g.20gb@4");
  EXPECT_EQ(destroy(instance), kSuccess);
}

TEST(Lies, OnCreation) {
  const Node node("A100-40GB");
  ASSERT_EQ(inject("nvmlDeviceCreateGpuInstanceWithPlacement=lie", -1, 1), kSuccess);
  nvml::GpuInstance gi = nullptr;
  EXPECT_EQ(create_gi(gpu(0), "3g.20gb", 4, gi), kSuccess);
  nvml::GpuInstanceInfo info{};
  EXPECT_EQ(NVML(nvmlGpuInstanceGetInfo)(gi, &info), nvml::kInvalidArgument);
  EXPECT_EQ(to_text(list(gpu(0))), "");
  ASSERT_EQ(create_gi(gpu(0), "3g.20gb", 4, gi), kSuccess);
  ASSERT_EQ(inject("nvmlGpuInstanceCreateComputeInstance=lie", -1, 1), kSuccess);
  nvml::ComputeInstance ci = nullptr;
  EXPECT_EQ(NVML(nvmlGpuInstanceCreateComputeInstance)(gi, 2, &ci), kSuccess);
  nvml::ComputeInstanceInfo compute{};
  EXPECT_EQ(NVML(nvmlComputeInstanceGetInfo_v2)(ci, &compute), nvml::kInvalidArgument);
  EXPECT_EQ(to_text(list(gpu(0))), "9@4+4 gi2");
}

TEST(Lies, OnDestructionAndOnTheMode) {
  const Node node("A100-40GB");
  const Instance instance = create(gpu(0), "3g.20gb@4");
  ASSERT_EQ(inject("nvmlComputeInstanceDestroy=lie", -1, 1), kSuccess);
  EXPECT_EQ(NVML(nvmlComputeInstanceDestroy)(instance.ci), kSuccess);
  EXPECT_EQ(to_text(list(gpu(0))), "9@4+4 gi2 [0:0+3]");
  EXPECT_EQ(NVML(nvmlComputeInstanceDestroy)(instance.ci), kSuccess);
  ASSERT_EQ(inject("nvmlGpuInstanceDestroy=lie", -1, 1), kSuccess);
  EXPECT_EQ(NVML(nvmlGpuInstanceDestroy)(instance.gi), kSuccess);
  EXPECT_EQ(to_text(list(gpu(0))), "9@4+4 gi2");
  EXPECT_EQ(NVML(nvmlGpuInstanceDestroy)(instance.gi), kSuccess);
  ASSERT_EQ(inject("nvmlDeviceSetMigMode=lie", -1, 1), kSuccess);
  nvml::Return activation = nvml::kUnknown;
  EXPECT_EQ(NVML(nvmlDeviceSetMigMode)(gpu(0), 0, &activation), kSuccess);
  EXPECT_EQ(activation, kSuccess);
  EXPECT_EQ(mig_mode(gpu(0)).first, 1U);
}

// A call that fails changes nothing.
TEST(Faults, ChangeNothing) {
  const Node node("A100-40GB");
  const Instance instance = create(gpu(0), "3g.20gb@4");
  for (const char* fault : {"nvmlGpuInstanceDestroy=IN_USE", "nvmlComputeInstanceDestroy=IN_USE",
                            "nvmlDeviceCreateGpuInstanceWithPlacement=INSUFFICIENT_RESOURCES"}) {
    ASSERT_EQ(inject(fault), kSuccess);
  }
  nvml::GpuInstance gi = nullptr;
  EXPECT_EQ(create_gi(gpu(0), "1g.5gb", 0, gi), nvml::kInsufficientResources);
  EXPECT_EQ(destroy(instance), nvml::kInUse);
  EXPECT_EQ(to_text(list(gpu(0))), "9@4+4 gi2 [0:0+3]");
}

TEST(Faults, ThatMakeNoSenseAreRefused) {
  const Node node("A100-40GB");
  const std::vector<std::pair<const char*, const char*>> bad = {
      {"", "missing '='"},
      {"nvmlDeviceGetMigMode", "missing '='"},
      {"=IN_USE", "not an NVML function"},
      {"cudaMalloc=IN_USE", "not an NVML function"},
      {"nvmlDeviceGetMigMode=", "unknown error"},
      {"nvmlDeviceGetMigMode=SUCCESS", "unknown error"},
      {"nvmlDeviceGetMigMode=in_use", "unknown error"},
      {"nvmlDeviceGetMigMode=hang:", "1 to 3600000 milliseconds"},
      {"nvmlDeviceGetMigMode=hang:0", "1 to 3600000 milliseconds"},
      {"nvmlDeviceGetMigMode=hang:9999999", "1 to 3600000 milliseconds"},
      {"nvmlDeviceGetMigMode=lie", "can lie"},
      {"*=lie", "can lie"}};
  for (const auto& [fault, why] : bad) {
    EXPECT_EQ(inject(fault), nvml::kInvalidArgument) << fault;
    EXPECT_THAT(control_error(), HasSubstr(why)) << fault;
  }
  const std::string endless = "nvml" + std::string(80, 'x') + "=IN_USE";
  EXPECT_EQ(inject(endless.c_str()), nvml::kInvalidArgument);
  EXPECT_EQ(inject(nullptr), nvml::kInvalidArgument);
  EXPECT_EQ(inject("*=IN_USE", 1), nvml::kInvalidArgument);
  EXPECT_EQ(control_error(), "emulated GPU 1: not found; -1 means all.");
  EXPECT_EQ(inject("*=IN_USE", 0, 0, 0), nvml::kInvalidArgument);
  EXPECT_EQ(inject("*=IN_USE", 0, 0, 101), nvml::kInvalidArgument);
  EXPECT_EQ(read_mode(gpu(0)), kSuccess);
}

TEST(Faults, HaveRoomForSixteen) {
  const Node node("A100-40GB");
  for (int i = 0; i < 16; ++i) {
    ASSERT_EQ(inject("nvmlDeviceGetMigMode=IN_USE", -1, 1), kSuccess);
  }
  EXPECT_EQ(inject("nvmlDeviceGetMigMode=IN_USE", -1, 1), nvml::kInsufficientResources);
  EXPECT_THAT(control_error(), HasSubstr("limit of 16 faults"));
  EXPECT_EQ(read_mode(gpu(0)), nvml::kInUse);
  EXPECT_EQ(inject("nvmlDeviceGetMigMode=hang:5"), kSuccess);
  EXPECT_THAT(status(), HasSubstr("nvmlDeviceGetMigMode=hang:5"));
  EXPECT_THAT(status(), HasSubstr("nvmlDeviceGetMigMode=IN_USE"));
}

}  // namespace
}  // namespace tangram::tests
