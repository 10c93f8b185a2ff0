// Listing instances: whole, incomplete, split, unknown; and the processes and traffic on them.
#include "device/instances.hpp"

#include <sys/wait.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/activity.hpp"
#include "tests/support/device/node.hpp"

namespace tangram::device {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::make_half;
using testing::must_create;
using testing::Node;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST(ListInstances, GivesWhatStandsByStart) {
  const Node node("2xA100-40GB");
  const Gpu gpu = node.gpu();
  EXPECT_THAT(node.instances(gpu), IsEmpty());
  OwnedInstances owned;
  const Instance second = must_create(node, gpu, "2g.10gb", 4, owned);
  const Instance first = must_create(node, gpu, "3g.20gb", 0, owned);
  const auto instances = node.instances(gpu);
  ASSERT_THAT(instances, SizeIs(2));
  EXPECT_EQ(instances[0], first);
  EXPECT_EQ(instances[1], second);
  EXPECT_EQ(first.profile, "3g.20gb");
  EXPECT_EQ(first.size, 4U);
  EXPECT_EQ(second.start, 4U);
  EXPECT_TRUE(first.whole);
  EXPECT_THAT(first.mig_uuid, StartsWith("MIG-"));
  EXPECT_NE(first.mig_uuid, second.mig_uuid);
  EXPECT_EQ(second.placement, testing::placement(gpu, "2g.10gb", 4));
  EXPECT_THAT(node.instances(node.gpu(1)), IsEmpty());
}

TEST(ListInstances, ShowsAHalfMadeOne) {
  const Node node("1xA100-40GB");
  const Gpu gpu = node.gpu();
  make_half(node, gpu, "2g.10gb", 2);
  const auto instances = node.instances(gpu);
  ASSERT_THAT(instances, SizeIs(1));
  EXPECT_FALSE(instances[0].ci.has_value());
  EXPECT_FALSE(instances[0].whole);
  EXPECT_EQ(instances[0].mig_uuid, "");
  EXPECT_EQ(instances[0].start, 2U);
}

// Two compute instances of one slice in a 2g, as another program may create them.
TEST(ListInstances, ShowsASplitOne) {
  const Node node("1xA100-40GB");
  const Gpu gpu = node.gpu();
  make_half(node, gpu, "2g.10gb", 0);
  const Calls& calls = node.library().calls();
  const auto gi = find_gpu_instance(node.library(), gpu, {gpu.uuid, "2g.10gb", 0});
  ASSERT_TRUE(gi.has_value() && gi->has_value());
  nvml::ComputeInstance ci = nullptr;
  ASSERT_EQ(calls.create_ci((*gi)->handle, 0, &ci), nvml::kSuccess);
  auto instances = node.instances(gpu);
  ASSERT_THAT(instances, SizeIs(1));
  EXPECT_TRUE(instances[0].ci.has_value());
  EXPECT_FALSE(instances[0].whole);
  ASSERT_EQ(calls.create_ci((*gi)->handle, 0, &ci), nvml::kSuccess);
  instances = node.instances(gpu);
  ASSERT_THAT(instances, SizeIs(1));
  EXPECT_FALSE(instances[0].whole);
}

TEST(ListInstances, ShowsOnesOfAProfileItDoesNotKnow) {
  const Node node("1xA100-40GB");
  const Gpu gpu = node.gpu();
  OwnedInstances owned;
  const Instance made = must_create(node, gpu, "2g.10gb", 4, owned);
  Gpu without_model = gpu;
  without_model.model = nullptr;
  const auto instances = node.instances(without_model);
  ASSERT_THAT(instances, SizeIs(1));
  EXPECT_FALSE(instances[0].placement.has_value());
  EXPECT_EQ(instances[0].profile, "unknown-14");
  EXPECT_EQ(instances[0].gi, made.gi);
  EXPECT_EQ(instances[0].start, 4U);
  EXPECT_EQ(instances[0].mig_uuid, made.mig_uuid);
  EXPECT_TRUE(instances[0].whole);
}

// A list that lacks an instance would look like free slices.
TEST(ListInstances, IsCompleteOrAnError) {
  const Node node("1xA100-40GB");
  const Gpu gpu = node.gpu();
  OwnedInstances owned;
  must_create(node, gpu, "2g.10gb", 4, owned);
  for (const char* fault :
       {"nvmlDeviceGetGpuInstances=UNKNOWN", "nvmlDeviceGetGpuInstances=NO_PERMISSION",
        "nvmlGpuInstanceGetInfo=INVALID_ARGUMENT", "nvmlDeviceGetGpuInstanceById=UNKNOWN",
        "nvmlGpuInstanceGetComputeInstances=UNKNOWN", "nvmlComputeInstanceGetInfo=NOT_FOUND",
        "nvmlGpuInstanceGetComputeInstanceProfileInfo=UNKNOWN"}) {
    SCOPED_TRACE(fault);
    node.fault(fault);
    EXPECT_FALSE(list_instances(node.library(), gpu).has_value());
    EXPECT_THAT(node.instances(gpu), SizeIs(1));
  }
  node.fault("nvmlGpuInstanceGetComputeInstanceProfileInfo=INVALID_ARGUMENT", 9);  // it vanished
  EXPECT_FALSE(list_instances(node.library(), gpu).has_value());
}

TEST(Look, TriesAgainWhatMayPass) {
  const Node node("1xA100-40GB");
  const Gpu gpu = node.gpu();
  node.fault("nvmlDeviceGetGpuInstances=UNKNOWN", 3);
  EXPECT_TRUE(list_instances_with_retry(node.library(), gpu).has_value());
  node.fault("nvmlDeviceGetGpuInstances=NO_PERMISSION");
  EXPECT_FALSE(list_instances_with_retry(node.library(), gpu).has_value());
}

// Drivers may return the parent's handle instead of that of the MIG device.
TEST(MigUuid, IsFoundByIndexWhenTheHandleIsNotTheMigDevices) {
  const Node node("1xA100-40GB");
  const Gpu gpu = node.gpu();
  OwnedInstances owned;
  must_create(node, gpu, "1g.5gb", 0, owned);
  const Instance made = must_create(node, gpu, "2g.10gb", 4, owned);
  const auto before = node.instances(gpu);
  node.fault("nvmlDeviceGetUUID=UNKNOWN");  // for the first of them
  EXPECT_EQ(node.instances(gpu), before);
  node.fault("nvmlDeviceGetUUID=UNKNOWN", 2);
  EXPECT_FALSE(list_instances(node.library(), gpu).has_value());
}

TEST(FillingProfile, OfADoubleMemory1gOnHopperHasAllItsMultiprocessors) {
  const Node node("1xH100-80GB");
  const Gpu gpu = node.gpu();
  make_half(node, gpu, "1g.20gb", 2);
  const auto gi = find_gpu_instance(node.library(), gpu, {gpu.uuid, "1g.20gb", 2});
  ASSERT_TRUE(gi.has_value() && gi->has_value());
  const auto profile = filling_profile(node.library(), gpu, (*gi)->handle, 1);
  ASSERT_TRUE(profile.has_value());
  EXPECT_EQ(profile->id, nvml::kCiProfile1SliceRev1);
  EXPECT_FALSE(filling_profile(node.library(), gpu, (*gi)->handle, 5).has_value());
  OwnedInstances owned;
  EXPECT_TRUE(must_create(node, gpu, "1g.20gb", 4, owned).whole);
}

TEST(Processes, AreThoseOfTheGpuOrOfOneInstance) {
  const Node node("1xA100-40GB");
  const Gpu gpu = node.gpu();
  OwnedInstances owned;
  const Instance a = must_create(node, gpu, "1g.5gb", 0, owned);
  const Instance b = must_create(node, gpu, "1g.5gb", 1, owned);
  node.occupy(a.mig_uuid);
  node.occupy(gpu.uuid);
  const auto all = processes(node.library(), gpu.uuid);
  ASSERT_TRUE(all.has_value()) << all.error().error.message;
  EXPECT_THAT(*all, SizeIs(2));
  const auto on_a = processes(node.library(), gpu.uuid, a.gi);
  ASSERT_THAT(*on_a, SizeIs(1));
  EXPECT_EQ(on_a->front().pid, Node::own_pid());
  EXPECT_EQ(on_a->front().gi, a.gi);
  EXPECT_EQ(on_a->front().memory_bytes, 1'048'576U);
  EXPECT_THAT(on_a->front().name, HasSubstr("device_test"));
  EXPECT_THAT(*processes(node.library(), gpu.uuid, b.gi), IsEmpty());
}

// Child processes that are killed at the end of the test.
class Children {
 public:
  explicit Children(int count) {
    for (int i = 0; i < count; ++i) {
      const pid_t pid = ::fork();
      if (pid == 0) {
        ::pause();
        ::_exit(0);
      }
      pids_.push_back(pid);
    }
  }
  ~Children() {
    for (const pid_t pid : pids_) ::kill(pid, SIGKILL);
    for (const pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  Children(Children&&) = delete;
  Children& operator=(Children&&) = delete;
  [[nodiscard]] const std::vector<pid_t>& pids() const { return pids_; }

 private:
  std::vector<pid_t> pids_;
};

TEST(Processes, MayBeManyAndMayGrowMeanwhile) {
  const Node node("1xA100-40GB");
  const Gpu gpu = node.gpu();
  const Children children(50);
  for (const pid_t pid : children.pids()) node.occupy(gpu.uuid, static_cast<unsigned>(pid));
  EXPECT_THAT(*processes(node.library(), gpu.uuid), SizeIs(50));
  node.fault("nvmlDeviceGetComputeRunningProcesses=INSUFFICIENT_SIZE", 3);
  EXPECT_THAT(*processes(node.library(), gpu.uuid), SizeIs(50));
  node.fault("nvmlDeviceGetComputeRunningProcesses=INSUFFICIENT_SIZE", 0);
  EXPECT_FALSE(processes(node.library(), gpu.uuid).has_value());
}

TEST(PcieThroughput, ReportsBothDirections) {
  const Node node("1xA100-40GB");
  const Gpu gpu = node.gpu();
  node.demand(gpu.uuid, 2'000'000, 500'000);
  const auto throughput = pcie_throughput(node.library(), gpu.uuid);
  ASSERT_TRUE(throughput.has_value()) << throughput.error().error.message;
  EXPECT_GT(throughput->to_gpu_kbps, throughput->from_gpu_kbps);
  EXPECT_NEAR(static_cast<double>(throughput->to_gpu_kbps), 2'000'000, 200'000);
  node.fault("nvmlDeviceGetPcieThroughput=NOT_SUPPORTED");
  EXPECT_EQ(pcie_throughput(node.library(), gpu.uuid).error().kind, Failure::Kind::kUnsupported);
}

}  // namespace
}  // namespace tangram::device
