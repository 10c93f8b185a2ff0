// MIG mode per architecture: Ampere resets itself and remembers the mode, Hopper and later need no
// reset and forget it; neither switches while the GPU is in use.
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "child.hpp"
#include "listing.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

using nvml::kSuccess;
using Mode = std::pair<unsigned, unsigned>;  // current, pending

std::string off(const std::string& model, const std::string& more = "") {
  return "[[gpu]]\nmodel = \"" + model + "\"\nmig = false\n" + more;
}

// The driver's result of making the change effective at once.
nvml::Return set_mode(unsigned mode) {
  nvml::Return activation = nvml::kUnknown;
  EXPECT_EQ(NVML(nvmlDeviceSetMigMode)(gpu(0), mode, &activation), kSuccess);
  return activation;
}

nvml::Return resetless_field(nvml::Device device, unsigned& answer) {
  nvml::FieldValue field{};
  field.field_id = nvml::kFieldResetlessMig;
  EXPECT_EQ(NVML(nvmlDeviceGetFieldValues)(device, 1, &field), kSuccess);
  answer = field.value.ui;
  return field.nvml_return;
}

TEST(MigMode, SwitchesAtOnceOnAnIdleGpu) {
  for (const char* model : {"A100-40GB", "H100-80GB", "RTX-PRO-6000-96GB"}) {
    const Node node(off(model));
    EXPECT_EQ(mig_mode(gpu(0)), (Mode{0, 0}));
    EXPECT_EQ(set_mode(1), kSuccess);
    EXPECT_EQ(mig_mode(gpu(0)), (Mode{1, 1})) << model;
    EXPECT_EQ(set_mode(0), kSuccess);
    EXPECT_EQ(mig_mode(gpu(0)), (Mode{0, 0})) << model;
  }
}

TEST(MigMode, OnlyPendsWhileAProcessIsThere) {
  for (const char* model : {"A100-40GB", "H100-80GB"}) {
    const Node node(off(model));
    Child monitor(idle);
    ASSERT_EQ(monitor.channel().receive(), "here");
    ASSERT_EQ(NVML(tangramEmulatorRegister)(uuid_of(gpu(0)).c_str(), monitor.pid(), 0), kSuccess);
    EXPECT_EQ(set_mode(1), nvml::kInUse);
    EXPECT_EQ(mig_mode(gpu(0)), (Mode{0, 1})) << model;
    monitor.kill();
    EXPECT_EQ(mig_mode(gpu(0)), (Mode{0, 1})) << "not retried by the driver";
    EXPECT_EQ(set_mode(1), kSuccess);
    EXPECT_EQ(mig_mode(gpu(0)), (Mode{1, 1})) << model;
  }
}

TEST(MigMode, OnlyPendsWhileInstancesAreThere) {
  const Node node("A100-40GB");
  const Instance instance = create(gpu(0), "1g.5gb@0");
  EXPECT_EQ(set_mode(0), nvml::kInUse);
  EXPECT_EQ(mig_mode(gpu(0)), (Mode{1, 0}));
  EXPECT_EQ(to_text(list(gpu(0))), "19@0+1 gi7 [0:0+1]");
  EXPECT_EQ(set_mode(1), kSuccess) << "cancels the pending change";
  EXPECT_EQ(mig_mode(gpu(0)), (Mode{1, 1}));
  EXPECT_EQ(set_mode(0), nvml::kInUse);
  ASSERT_EQ(destroy(instance), kSuccess);
  EXPECT_EQ(set_mode(0), kSuccess);
  EXPECT_EQ(mig_mode(gpu(0)), (Mode{0, 0}));
}

TEST(MigMode, InAVirtualMachineAmpereNeedsAReset) {
  const Node node(off("A100-40GB", "in_vm = true\n"));
  EXPECT_EQ(set_mode(1), nvml::kResetRequired);
  EXPECT_EQ(mig_mode(gpu(0)), (Mode{0, 1}));
  ASSERT_EQ(NVML(tangramEmulatorResetGpu)(0), kSuccess);
  EXPECT_EQ(mig_mode(gpu(0)), (Mode{1, 1}));
  EXPECT_EQ(set_mode(0), nvml::kResetRequired);
  ASSERT_EQ(NVML(tangramEmulatorReboot)(), kSuccess);
  EXPECT_EQ(mig_mode(gpu(0)), (Mode{0, 0}));
}

TEST(MigMode, InAVirtualMachineHopperSwitches) {
  const Node node(off("H100-80GB", "in_vm = true\n"));
  EXPECT_EQ(set_mode(1), kSuccess);
  EXPECT_EQ(mig_mode(gpu(0)), (Mode{1, 1}));
}

TEST(Reboot, AmpereKeepsTheModeHopperLosesIt) {
  const Node node("A100-40GB,H100-80GB,RTX-PRO-6000-96GB");
  const Instance first = create(gpu(0), "3g.20gb@4");
  const Instance second = create(gpu(1), "3g.40gb@4");
  ASSERT_EQ(NVML(tangramEmulatorReboot)(), kSuccess);
  EXPECT_EQ(mig_mode(gpu(0)), (Mode{1, 1}));
  EXPECT_EQ(mig_mode(gpu(1)), (Mode{0, 0}));
  EXPECT_EQ(mig_mode(gpu(2)), (Mode{0, 0}));
  EXPECT_EQ(to_text(list(gpu(0))), "");
  nvml::GpuInstanceInfo info{};
  EXPECT_EQ(NVML(nvmlGpuInstanceGetInfo)(first.gi, &info), nvml::kInvalidArgument);
  EXPECT_EQ(NVML(nvmlGpuInstanceGetInfo)(second.gi, &info), nvml::kInvalidArgument);
  const Instance again = create(gpu(0), "3g.20gb@4");
  EXPECT_EQ(NVML(nvmlGpuInstanceGetInfo)(first.gi, &info), nvml::kInvalidArgument);
  EXPECT_EQ(again.uuid, first.uuid);
}

TEST(ResetOfAGpu, KeepsTheModeOfEveryArchitecture) {
  const Node node("A100-40GB,H100-80GB");
  for (const unsigned index : {0U, 1U}) {
    const Instance instance = create(gpu(index), index == 0 ? "3g.20gb@4" : "3g.40gb@4");
    Child job(idle);
    ASSERT_EQ(job.channel().receive(), "here");
    ASSERT_EQ(NVML(tangramEmulatorRegister)(instance.uuid.c_str(), job.pid(), 0), kSuccess);
    EXPECT_EQ(NVML(tangramEmulatorResetGpu)(index), nvml::kInUse);
    job.kill();
    EXPECT_EQ(NVML(tangramEmulatorResetGpu)(index), kSuccess);
    EXPECT_EQ(mig_mode(gpu(index)), (Mode{1, 1}));
    EXPECT_EQ(to_text(list(gpu(index))), "");
  }
  EXPECT_EQ(NVML(tangramEmulatorResetGpu)(2), nvml::kInvalidArgument);
  EXPECT_EQ(control_error(), "emulated GPU 2: not found; the node has 2, numbered from 0.");
}

TEST(MigMode, OffMeansNoInstances) {
  const Node node(off("A100-40GB"));
  const unsigned id = profile_id(gpu(0), "1g.5gb");
  nvml::GpuInstance gi = nullptr;
  nvml::GpuInstance all[8]{};
  nvml::Device mig = nullptr;
  const nvml::Placement place{0, 1};
  unsigned count = 9;
  EXPECT_EQ(NVML(nvmlDeviceCreateGpuInstance)(gpu(0), id, &gi), nvml::kNotSupported);
  EXPECT_EQ(NVML(nvmlDeviceCreateGpuInstanceWithPlacement)(gpu(0), id, &place, &gi),
            nvml::kNotSupported);
  EXPECT_EQ(NVML(nvmlDeviceGetGpuInstances)(gpu(0), id, all, &count), nvml::kNotSupported);
  EXPECT_EQ(NVML(nvmlDeviceGetGpuInstanceById)(gpu(0), 0, &gi), nvml::kNotSupported);
  EXPECT_EQ(NVML(nvmlDeviceGetGpuInstanceRemainingCapacity)(gpu(0), id, &count),
            nvml::kNotSupported);
  EXPECT_EQ(NVML(nvmlDeviceGetMigDeviceHandleByIndex)(gpu(0), 0, &mig), nvml::kNotSupported);
  EXPECT_EQ(NVML(nvmlDeviceGetMaxMigDeviceCount)(gpu(0), &count), kSuccess);
  EXPECT_EQ(count, 0U);
  // From R550 on these work without MIG.
  nvml::GiProfileInfo info{};
  EXPECT_EQ(NVML(nvmlDeviceGetGpuInstanceProfileInfo)(gpu(0), 0, &info), kSuccess);
  EXPECT_EQ(NVML(nvmlDeviceGetGpuInstancePossiblePlacements_v2)(gpu(0), id, nullptr, &count),
            kSuccess);
  EXPECT_EQ(count, 7U);
}

TEST(MigMode, TheKindOfSwitchIsReported) {
  constexpr unsigned kArchitectures[] = {nvml::kArchAmpere, nvml::kArchHopper,
                                         nvml::kArchBlackwell};
  const Node node("A100-40GB,H100-80GB,B200-180GB");
  for (const unsigned index : {0U, 1U, 2U}) {
    unsigned resetless = 9;
    EXPECT_EQ(resetless_field(gpu(index), resetless), kSuccess);
    EXPECT_EQ(resetless, index == 0 ? 0U : 1U);
    unsigned architecture = 0;
    EXPECT_EQ(NVML(nvmlDeviceGetArchitecture)(gpu(index), &architecture), kSuccess);
    EXPECT_EQ(architecture, kArchitectures[index]);
  }
  nvml::Return activation = kSuccess;
  EXPECT_EQ(NVML(nvmlDeviceSetMigMode)(gpu(0), 2, &activation), nvml::kInvalidArgument);
  EXPECT_EQ(NVML(nvmlDeviceSetMigMode)(gpu(0), 1, nullptr), nvml::kInvalidArgument);
}

}  // namespace
}  // namespace tangram::tests
