// Switching MIG on: the instruction and the attempt. And the doctor.
#include "device/prepare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "device/doctor.hpp"
#include "tests/support/device/node.hpp"

namespace tangram::device {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::make_half;
using testing::must_create;
using testing::Node;
using ::testing::Not;
using ::testing::SizeIs;
using Severity = Finding::Severity;

std::string off(const char* model) {
  return cat("[[gpu]]\nmodel = \"", model, "\"\nmig = false\n");
}

Gpu gpu_with(MigMode mode, bool resetless) {
  Gpu gpu;
  gpu.uuid = "GPU-1";
  gpu.pci_bus_id = "00000000:17:00.0";
  gpu.device_name = "NVIDIA Something";
  gpu.mig = mode;
  gpu.resetless = resetless;
  return gpu;
}

TEST(MigInstruction, SaysWhatToRun) {
  EXPECT_EQ(mig_instruction(gpu_with(MigMode::kOn, false)), "");
  EXPECT_THAT(mig_instruction(gpu_with(MigMode::kOff, false)),
              AllOf(HasSubstr("MIG is off on GPU-1"),
                    HasSubstr("`nvidia-smi -i 00000000:17:00.0 -mig 1` as root"),
                    HasSubstr("must be reset"), HasSubstr("dcgm"), HasSubstr("survives reboots")));
  EXPECT_THAT(mig_instruction(gpu_with(MigMode::kOff, true)),
              AllOf(HasSubstr("needs no reset"), HasSubstr("at every boot")));
  EXPECT_THAT(mig_instruction(gpu_with(MigMode::kPendingOn, false)),
              AllOf(HasSubstr("pending"), HasSubstr("--gpu-reset")));
  EXPECT_THAT(mig_instruction(gpu_with(MigMode::kPendingOn, true)),
              AllOf(HasSubstr("pending"), Not(HasSubstr("--gpu-reset"))));
  EXPECT_THAT(mig_instruction(gpu_with(MigMode::kPendingOff, false)),
              HasSubstr("off after the next reset"));
  EXPECT_THAT(mig_instruction(gpu_with(MigMode::kUnsupported, false)),
              HasSubstr("NVIDIA Something) does not support MIG"));
}

TEST(Prepare, SwitchesMigOnWhereNothingIsInTheWay) {
  for (const char* model : {"A100-40GB", "H100-80GB"}) {
    const Node node(off(model));
    const auto preparation = prepare(node.library(), node.gpu());
    ASSERT_TRUE(preparation.has_value()) << preparation.error().error.message;
    EXPECT_EQ(preparation->mode, MigMode::kOn) << model;
    EXPECT_EQ(preparation->next, "");
    EXPECT_EQ(node.gpu().mig, MigMode::kOn);
    EXPECT_EQ(prepare(node.library(), node.gpu())->mode, MigMode::kOn);  // no harm
  }
}

TEST(Prepare, NeverTakesPendingForDone) {
  for (const char* model : {"A100-40GB", "H100-80GB"}) {
    const Node node(off(model));
    const Gpu gpu = node.gpu();
    node.occupy(gpu.uuid);
    const auto preparation = prepare(node.library(), gpu);
    ASSERT_TRUE(preparation.has_value()) << preparation.error().error.message;
    EXPECT_EQ(preparation->mode, MigMode::kPendingOn) << model;
    ASSERT_THAT(preparation->holders, SizeIs(1));
    EXPECT_THAT(preparation->next, AllOf(HasSubstr("not on yet"), HasSubstr("IN_USE"),
                                         HasSubstr("device_test"), HasSubstr("monitoring")));
    const Gpu now = node.gpu();
    EXPECT_EQ(now.mig, MigMode::kPendingOn);
    OwnedInstances owned;
    const auto made =
        create(node.library(), now, testing::placement(now, gpu.model->profiles()[0].name, 0),
               owned, testing::fast_retry());
    EXPECT_EQ(made.error().kind, Failure::Kind::kNotReady);
    node.leave(gpu.uuid);
    node.reset_gpu(0);
    EXPECT_EQ(node.gpu().mig, MigMode::kOn);
  }
}

TEST(Prepare, TouchesNoGpuThatIsInUse) {
  const Node node(off("H100-80GB"));
  const Gpu gpu = node.gpu();
  node.occupy(gpu.uuid);
  const auto refused = prepare_unused(node.library(), gpu);
  ASSERT_TRUE(refused.has_value()) << refused.error().error.message;
  EXPECT_EQ(refused->mode, MigMode::kOff);
  EXPECT_THAT(refused->holders, SizeIs(1));
  EXPECT_THAT(refused->next, AllOf(HasSubstr("in use by"), HasSubstr("device_test")));
  EXPECT_EQ(node.gpu().mig, MigMode::kOff);  // not pending either
  node.leave(gpu.uuid);
  node.fault("nvmlDeviceGetComputeRunningProcesses=NO_PERMISSION");
  EXPECT_EQ(prepare_unused(node.library(), gpu).error().kind, Failure::Kind::kNoPermission);
  node.fault("nvmlDeviceGetGraphicsRunningProcesses=UNKNOWN");
  EXPECT_FALSE(prepare_unused(node.library(), gpu).has_value());
  EXPECT_EQ(node.gpu().mig, MigMode::kOff);
  node.fault("nvmlDeviceGetGraphicsRunningProcesses=NOT_SUPPORTED");
  const auto prepared = prepare_unused(node.library(), gpu);
  ASSERT_TRUE(prepared.has_value()) << prepared.error().error.message;
  EXPECT_EQ(prepared->mode, MigMode::kOn);
  EXPECT_EQ(node.gpu().mig, MigMode::kOn);
}

TEST(Prepare, NeedsAResetThatAVirtualMachineCannotMake) {
  const Node node("[[gpu]]\nmodel = \"A100-40GB\"\nmig = false\nin_vm = true\n");
  const auto preparation = prepare(node.library(), node.gpu());
  ASSERT_TRUE(preparation.has_value());
  EXPECT_EQ(preparation->mode, MigMode::kPendingOn);
  EXPECT_THAT(preparation->next, AllOf(HasSubstr("RESET_REQUIRED"), HasSubstr("--gpu-reset")));
}

TEST(Prepare, ReportsRefusalsAndLies) {
  const Node node(off("A100-40GB"));
  const Gpu gpu = node.gpu();
  node.fault("nvmlDeviceSetMigMode=NO_PERMISSION");
  EXPECT_EQ(prepare(node.library(), gpu).error().kind, Failure::Kind::kNoPermission);
  node.fault("nvmlDeviceSetMigMode=lie");
  const auto lied = prepare(node.library(), gpu);
  ASSERT_FALSE(lied.has_value());
  EXPECT_THAT(lied.error().error.message, HasSubstr("reports success, but nothing changed"));
  node.fault("nvmlDeviceSetMigMode=NOT_SUPPORTED");
  EXPECT_EQ(prepare(node.library(), gpu).error().kind, Failure::Kind::kUnsupported);
  EXPECT_EQ(node.gpu().mig, MigMode::kOff);
}

TEST(MigMode, ThatWasSwitchedOffMeanwhileIsReportedByCreate) {
  const Node node(off("A100-40GB"));
  Gpu before = node.gpu();
  before.mig = MigMode::kOn;  // as it was when it was read
  OwnedInstances owned;
  const auto made = create(node.library(), before, testing::placement(before, "1g.5gb", 0), owned,
                           testing::fast_retry());
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().kind, Failure::Kind::kNotReady);
  EXPECT_EQ(made.error().leftover, Failure::Leftover::kNothing);
  EXPECT_THAT(made.error().error.message, HasSubstr("-mig 1"));
  EXPECT_THAT(owned.locations(), IsEmpty());
}

auto finding(Severity severity, const char* text) {
  return Contains(
      AllOf(Field(&Finding::severity, severity), Field(&Finding::what, HasSubstr(text))));
}

TEST(Doctor, FindsNothingWrongWithAGoodNode) {
  const Node node("2xA100-40GB");
  const auto findings = diagnose(TANGRAM_EMULATOR_LIBRARY, OwnedInstances());
  EXPECT_THAT(findings, Each(Field(&Finding::severity, Severity::kOk)));
  EXPECT_THAT(findings, finding(Severity::kOk, "libnvidia-ml.so.1"));
  EXPECT_THAT(findings, finding(Severity::kOk, "version"));
  EXPECT_THAT(findings, finding(Severity::kOk, "NVIDIA A100-SXM4-40GB"));
  EXPECT_THAT(findings, finding(Severity::kOk, "has MIG on"));
  EXPECT_THAT(findings, finding(Severity::kOk, "may manage the instances"));
}

TEST(Doctor, SaysThatThereIsNoLibrary) {
  const auto findings = diagnose("/nowhere.so", OwnedInstances());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].severity, Severity::kProblem);
  EXPECT_THAT(findings[0].what, HasSubstr("/nowhere.so"));
}

TEST(Doctor, FindsInstancesThatAreNotAsTheyShouldBe) {
  const Node node("1xA100-40GB");
  const Gpu gpu = node.gpu();
  OwnedInstances ours;
  OwnedInstances others;
  must_create(node, gpu, "1g.5gb", 0, ours);
  must_create(node, gpu, "1g.5gb", 1, others);
  make_half(node, gpu, "2g.10gb", 2);
  node.occupy(gpu.uuid);
  const auto findings = diagnose(TANGRAM_EMULATOR_LIBRARY, ours);
  EXPECT_THAT(findings, finding(Severity::kNote, "1g.5gb@1"));
  EXPECT_THAT(findings, Not(finding(Severity::kNote, "1g.5gb@0")));
  EXPECT_THAT(findings, finding(Severity::kWarning, "2g.10gb@2"));
  EXPECT_THAT(findings, finding(Severity::kWarning, "held as a whole by"));
}

TEST(Doctor, FindsGpusThatCannotBeUsed) {
  const Node node("[[gpu]]\nmodel = \"A100-40GB\"\nmig = false\n[[gpu]]\nmodel = \"A100-40GB\"\n");
  node.fall_off(1);
  const auto findings = diagnose(TANGRAM_EMULATOR_LIBRARY, OwnedInstances());
  EXPECT_THAT(findings, finding(Severity::kProblem, "does not have MIG on"));
  EXPECT_THAT(findings, finding(Severity::kProblem, "GPU 1 is lost"));
}

TEST(Doctor, FindsWhatTheDriverDoesNotReport) {
  const Node node("1xA100-40GB");
  node.fault("nvmlDeviceGetGpuInstancePossiblePlacements=NO_PERMISSION", 0);
  node.fault("nvmlDeviceGetSupportedEventTypes=NOT_SUPPORTED", 0);
  node.fault("nvmlDeviceGetComputeRunningProcesses=NO_PERMISSION", 0);
  node.fault("nvmlSystemGetDriverVersion=UNKNOWN", 0);
  node.fault("nvmlDeviceGetGpuInstances=UNKNOWN", 0);
  const auto findings = diagnose(TANGRAM_EMULATOR_LIBRARY, OwnedInstances());
  EXPECT_THAT(findings, finding(Severity::kProblem, "has no known MIG profiles"));
  EXPECT_THAT(findings, finding(Severity::kNote, "does not report its errors"));
  EXPECT_THAT(findings, finding(Severity::kWarning, "list the processes"));
  EXPECT_THAT(findings, finding(Severity::kWarning, "read the driver's version"));
}

}  // namespace
}  // namespace tangram::device
