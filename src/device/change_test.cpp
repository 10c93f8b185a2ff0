// Creating and destroying with every kind of failure the driver has: the change is done and
// verified, or nothing is left, or the Failure says what is.
#include "device/change.hpp"

#include <functional>
#include <future>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/device/node.hpp"

namespace tangram::device {
namespace {

using ::testing::AllOf;
using testing::fast_retry;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::make_half;
using testing::must_create;
using testing::Node;
using ::testing::Not;
using testing::placement;
using ::testing::SizeIs;
using Kind = Failure::Kind;
using Leftover = Failure::Leftover;

class Change : public ::testing::Test {
 protected:
  Outcome<Instance> try_create(const RetryPolicy& retry = fast_retry()) {
    return create(node_.library(), gpu_, placement(gpu_, "2g.10gb", 4), owned_, retry);
  }
  Outcome<void> try_destroy(const Instance& instance, const RetryPolicy& retry = fast_retry()) {
    return destroy(node_.library(), gpu_, instance, owned_, retry);
  }
  Instance made() { return must_create(node_, gpu_, "2g.10gb", 4, owned_); }

  void expect_nothing(const Failure& failure, Kind kind) {
    EXPECT_EQ(failure.kind, kind) << failure.error.message;
    EXPECT_EQ(failure.leftover, Leftover::kNothing);
    node_.clear_faults();
    EXPECT_THAT(node_.instances(gpu_), IsEmpty());
    EXPECT_THAT(owned_.locations(), IsEmpty());
  }

  Node node_{"2xA100-40GB"};
  Gpu gpu_ = node_.gpu();
  OwnedInstances owned_;
};

TEST_F(Change, CreatesAndDestroys) {
  const auto instance = try_create();
  ASSERT_TRUE(instance.has_value()) << instance.error().error.message;
  EXPECT_TRUE(instance->whole);
  EXPECT_TRUE(owned_.has(location_of(*instance)));
  EXPECT_THAT(node_.instances(gpu_), SizeIs(1));
  ASSERT_TRUE(try_destroy(*instance).has_value());
  EXPECT_THAT(node_.instances(gpu_), IsEmpty());
  EXPECT_THAT(owned_.locations(), IsEmpty());
}

TEST_F(Change, WaitsForWhatIsInUseForAMoment) {
  node_.fault("nvmlDeviceCreateGpuInstanceWithPlacement=IN_USE", 3);
  node_.fault("nvmlGpuInstanceCreateComputeInstance=IN_USE", 3);
  const Instance instance = made();
  node_.fault("nvmlComputeInstanceDestroy=IN_USE", 3);
  node_.fault("nvmlGpuInstanceDestroy=IN_USE", 3);
  EXPECT_TRUE(try_destroy(instance).has_value());
  EXPECT_THAT(node_.instances(gpu_), IsEmpty());
  EXPECT_THAT(node_.library().errors(), IsEmpty());  // nothing went wrong
}

// Counted once per change, not once per try: the number of tries depends on the retry policy, not
// on the driver.
TEST_F(Change, CountsWhatStaysInUseOnce) {
  const auto count = [&](const char* call) { return node_.library().error_totals().at(call); };
  const RetryPolicy short_retry = fast_retry(std::chrono::milliseconds(30));
  for (const char* call :
       {"nvmlDeviceCreateGpuInstanceWithPlacement", "nvmlGpuInstanceCreateComputeInstance"}) {
    node_.fault((std::string(call) + "=IN_USE").c_str(), 0);
    EXPECT_FALSE(create(node_.library(), gpu_, placement(gpu_, "2g.10gb", 4), owned_, short_retry)
                     .has_value());
    EXPECT_EQ(count(call), 1U) << call;
    node_.clear_faults();
  }
  const Instance instance = made();
  for (const char* call : {"nvmlComputeInstanceDestroy", "nvmlGpuInstanceDestroy"}) {
    node_.fault((std::string(call) + "=IN_USE").c_str(), 0);
    EXPECT_FALSE(try_destroy(instance, short_retry).has_value());
    EXPECT_EQ(count(call), 1U) << call;
    node_.clear_faults();
  }
}

TEST_F(Change, ReportsTheHoldersOfAnInstance) {
  const Instance instance = made();
  node_.occupy(instance.mig_uuid);
  const auto result = try_destroy(instance, fast_retry(std::chrono::milliseconds(30)));
  ASSERT_FALSE(result.has_value());
  const Failure& failure = result.error();
  EXPECT_EQ(failure.kind, Kind::kInUse);
  EXPECT_EQ(failure.leftover, Leftover::kInstance);
  EXPECT_EQ(failure.instance, instance);
  ASSERT_THAT(failure.holders, SizeIs(1));
  EXPECT_EQ(failure.holders[0].pid, Node::own_pid());
  EXPECT_THAT(failure.error.message, AllOf(HasSubstr("2g.10gb@4"), HasSubstr("device_test")));
  EXPECT_TRUE(owned_.has(location_of(instance)));
  node_.leave(instance.mig_uuid);
  EXPECT_TRUE(try_destroy(instance).has_value());
}

TEST_F(Change, SaysWhatIsLeftOfAnInstanceThatStaysInUse) {
  const Instance instance = made();
  node_.fault("nvmlGpuInstanceDestroy=IN_USE", 0);
  const auto result = try_destroy(instance, fast_retry(std::chrono::milliseconds(30)));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, Kind::kInUse);
  ASSERT_TRUE(result.error().instance.has_value());
  EXPECT_FALSE(result.error().instance->ci.has_value());  // its compute instance is gone
  node_.clear_faults();
  EXPECT_TRUE(try_destroy(*result.error().instance).has_value());
  EXPECT_THAT(node_.instances(gpu_), IsEmpty());
}

TEST_F(Change, GivesUpWaitingWhenItIsStopped) {
  const Instance instance = made();
  node_.occupy(instance.mig_uuid);
  std::stop_source stop;
  stop.request_stop();
  RetryPolicy retry = fast_retry(std::chrono::hours(1));
  retry.stop = stop.get_token();
  EXPECT_EQ(try_destroy(instance, retry).error().kind, Kind::kInUse);
}

TEST_F(Change, FindsNoRoomWhereSomethingStands) {
  const Instance instance = made();
  for (const auto& [profile, start] : {std::pair("2g.10gb", 4), {"1g.5gb", 5}, {"7g.40gb", 0}}) {
    const auto result =
        create(node_.library(), gpu_, placement(gpu_, profile, start), owned_, fast_retry());
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().kind, Kind::kNoRoom);
    EXPECT_THAT(result.error().error.message,
                AllOf(HasSubstr("overlaps 2g.10gb@4"), Not(HasSubstr("not Tangram's"))));
  }
  EXPECT_THAT(owned_.locations(), SizeIs(1));
  EXPECT_EQ(node_.instances(gpu_).at(0), instance);
}

TEST_F(Change, LeavesNothingWhenTheDriverRefuses) {
  const std::pair<const char*, Kind> refusals[] = {
      {"nvmlDeviceCreateGpuInstanceWithPlacement=INSUFFICIENT_RESOURCES", Kind::kNoRoom},
      {"nvmlDeviceCreateGpuInstanceWithPlacement=NO_PERMISSION", Kind::kNoPermission},
      {"nvmlDeviceCreateGpuInstanceWithPlacement=INVALID_ARGUMENT", Kind::kFailed},
      {"nvmlDeviceCreateGpuInstanceWithPlacement=NOT_SUPPORTED", Kind::kUnsupported},
      {"nvmlDeviceCreateGpuInstanceWithPlacement=UNKNOWN", Kind::kFailed},
      {"nvmlDeviceCreateGpuInstanceWithPlacement=TIMEOUT", Kind::kFailed},
      {"nvmlDeviceCreateGpuInstanceWithPlacement=GPU_IS_LOST", Kind::kLost},
      {"nvmlDeviceCreateGpuInstanceWithPlacement=lie", Kind::kFailed},
      {"nvmlGpuInstanceCreateComputeInstance=INSUFFICIENT_RESOURCES", Kind::kNoRoom},
      {"nvmlGpuInstanceCreateComputeInstance=NO_PERMISSION", Kind::kNoPermission},
      {"nvmlGpuInstanceCreateComputeInstance=UNKNOWN", Kind::kFailed},
      {"nvmlGpuInstanceCreateComputeInstance=GPU_IS_LOST", Kind::kLost},
      {"nvmlGpuInstanceCreateComputeInstance=lie", Kind::kFailed},
      {"nvmlGpuInstanceGetComputeInstanceProfileInfo=NO_PERMISSION", Kind::kNoPermission},
  };
  for (const auto& [fault, kind] : refusals) {
    SCOPED_TRACE(fault);
    node_.fault(fault);
    const auto result = try_create();
    ASSERT_FALSE(result.has_value());
    expect_nothing(result.error(), kind);
  }
}

TEST_F(Change, RollsBackEvenWhenThatIsInUseAtFirst) {
  node_.fault("nvmlGpuInstanceCreateComputeInstance=INSUFFICIENT_RESOURCES");
  node_.fault("nvmlGpuInstanceDestroy=IN_USE", 4);
  const auto result = try_create();
  ASSERT_FALSE(result.has_value());
  expect_nothing(result.error(), Kind::kNoRoom);
}

TEST_F(Change, SaysWhatIsLeftWhenItCannotRollBack) {
  node_.fault("nvmlGpuInstanceCreateComputeInstance=UNKNOWN");
  node_.fault("nvmlGpuInstanceDestroy=IN_USE", 0);
  const auto result = try_create(fast_retry(std::chrono::milliseconds(30)));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().leftover, Leftover::kInstance);
  ASSERT_TRUE(result.error().instance.has_value());
  EXPECT_THAT(result.error().error.message, HasSubstr("Rolling back failed"));
  EXPECT_TRUE(
      owned_.has(location_of(*result.error().instance)));  // ours, so that we may destroy it
  node_.clear_faults();
  EXPECT_TRUE(try_destroy(*result.error().instance).has_value());
  EXPECT_THAT(node_.instances(gpu_), IsEmpty());
}

// The GPU falls off in the middle: what is left is not known, and the claim stays.
TEST_F(Change, OnALostGpuReportsAnUnknownOutcome) {
  node_.fault("nvmlGpuInstanceCreateComputeInstance=GPU_IS_LOST");
  node_.fault("nvmlGpuInstanceDestroy=GPU_IS_LOST");
  const auto result = try_create();
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, Kind::kLost);
  EXPECT_EQ(result.error().leftover, Leftover::kInstance);
  node_.fall_off(0);
  const auto destroyed = try_destroy(*result.error().instance);
  ASSERT_FALSE(destroyed.has_value());
  EXPECT_EQ(destroyed.error().kind, Kind::kLost);
  EXPECT_EQ(destroyed.error().leftover, Leftover::kUnknown);
  EXPECT_THAT(owned_.locations(), SizeIs(1));
  EXPECT_EQ(try_create().error().kind, Kind::kLost);
}

TEST_F(Change, BelievesNoSuccessItDoesNotSee) {
  const Instance instance = made();
  node_.fault("nvmlGpuInstanceDestroy=lie", 2);
  EXPECT_TRUE(try_destroy(instance).has_value());  // it was true the third time
  const Instance second = made();
  node_.fault("nvmlGpuInstanceDestroy=lie", 0);
  const auto result = try_destroy(second, fast_retry(std::chrono::milliseconds(20)));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, Kind::kFailed);
  EXPECT_EQ(result.error().leftover, Leftover::kInstance);
  EXPECT_THAT(result.error().error.message, HasSubstr("reports success, but nothing changed"));
  node_.clear_faults();
  node_.fault("nvmlComputeInstanceDestroy=lie");
  EXPECT_TRUE(try_destroy(second).has_value());
  EXPECT_THAT(node_.instances(gpu_), IsEmpty());
}

TEST_F(Change, DestroysWhatIsHalfGoneOrGone) {
  const Instance instance = made();
  const auto gi = find_gpu_instance(node_.library(), gpu_, location_of(instance));
  const auto computes = compute_instances(node_.library(), gpu_, (*gi)->handle);
  ASSERT_EQ(node_.library().calls().destroy_ci(computes->at(0)), nvml::kSuccess);
  EXPECT_TRUE(try_destroy(instance).has_value());
  EXPECT_THAT(node_.instances(gpu_), IsEmpty());
  ASSERT_TRUE(owned_.adopt(instance).has_value());
  EXPECT_TRUE(try_destroy(instance).has_value());  // gone already
  EXPECT_THAT(owned_.locations(), IsEmpty());
}

TEST_F(Change, ReportsAnErrorWithWhatStandsAfterIt) {
  const Instance instance = made();
  node_.fault("nvmlComputeInstanceDestroy=UNKNOWN");
  const auto result = try_destroy(instance);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, Kind::kFailed);
  EXPECT_EQ(result.error().leftover, Leftover::kInstance);
  EXPECT_EQ(result.error().instance, instance);
  EXPECT_TRUE(try_destroy(instance).has_value());
}

// The instance is destroyed while the call hangs; the call fails, but the goal is reached.
TEST_F(Change, TreatsAnErrorThatLeftNothingAsSuccess) {
  const Instance instance = made();
  node_.fault("nvmlComputeInstanceDestroy=hang:500");
  auto destroyed = std::async(std::launch::async, [&] { return try_destroy(instance); });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (node_.has_faults()) {  // until the call hangs
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the fault was not hit";
    std::this_thread::yield();
  }
  OwnedInstances others({location_of(instance)});
  ASSERT_TRUE(destroy(node_.library(), gpu_, instance, others, fast_retry()).has_value());
  const auto result = destroyed.get();
  EXPECT_TRUE(result.has_value()) << result.error().error.message;
  EXPECT_THAT(owned_.locations(), IsEmpty());
}

// Calls `then` between the claim and the creation, when the location was seen to be free.
OwnedInstances owned_with(const std::function<void()>& then) {
  return OwnedInstances(
      {}, [then, is_first = true](const InstanceLocation&, bool) mutable -> Result<void> {
        if (std::exchange(is_first, false)) then();
        return {};
      });
}

TEST_F(Change, TakesAnErrorAfterWhichTheInstanceStandsForDone) {
  OwnedInstances owned = owned_with([&] {
    make_half(node_, gpu_, "2g.10gb", 4);  // the driver did it, and then reports an error
    node_.fault("nvmlDeviceCreateGpuInstanceWithPlacement=TIMEOUT");
  });
  const auto result =
      create(node_.library(), gpu_, placement(gpu_, "2g.10gb", 4), owned, fast_retry());
  ASSERT_TRUE(result.has_value()) << result.error().error.message;
  EXPECT_TRUE(result->whole);
}

TEST_F(Change, DoesNotClaimWhatAnotherProgramCreatedMeanwhile) {
  OwnedInstances others;
  Instance foreign;
  OwnedInstances owned =
      owned_with([&] { foreign = must_create(node_, gpu_, "2g.10gb", 4, others); });
  const auto result =
      create(node_.library(), gpu_, placement(gpu_, "2g.10gb", 4), owned, fast_retry());
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, Kind::kNoRoom);
  EXPECT_THAT(owned.locations(), IsEmpty());
  ASSERT_THAT(node_.instances(gpu_), SizeIs(1));
  EXPECT_EQ(node_.instances(gpu_)[0], foreign);
}

TEST_F(Change, LeavesWhatIsNotOursAloneUntilItIsAdopted) {
  OwnedInstances others;
  const Instance foreign = must_create(node_, gpu_, "2g.10gb", 4, others);
  auto refused = try_destroy(foreign);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, Kind::kNotOurs);
  EXPECT_THAT(refused.error().error.message,
              AllOf(HasSubstr("2g.10gb@4"), HasSubstr("did not create"), HasSubstr("Adopt")));
  EXPECT_THAT(node_.instances(gpu_), SizeIs(1));
  const auto no_room = try_create();
  EXPECT_EQ(no_room.error().kind, Kind::kNoRoom);
  EXPECT_THAT(no_room.error().error.message, HasSubstr("not Tangram's"));
  EXPECT_THAT(owned_.locations(), IsEmpty());  // the attempt claimed nothing
  ASSERT_TRUE(owned_.adopt(foreign).has_value());
  EXPECT_TRUE(try_destroy(foreign).has_value());
  EXPECT_THAT(node_.instances(gpu_), IsEmpty());
}

// An instance of Tangram's was destroyed by another program, which then created a different one
// there.
TEST_F(Change, DoesNotTakeAnotherInstanceForOurs) {
  const Instance ours = made();
  OwnedInstances others;
  ASSERT_TRUE(others.adopt(ours).has_value());
  ASSERT_TRUE(destroy(node_.library(), gpu_, ours, others, fast_retry()).has_value());
  const Instance foreign = must_create(node_, gpu_, "1g.5gb", 4, others);
  EXPECT_TRUE(try_destroy(ours).has_value());  // it is gone
  ASSERT_THAT(node_.instances(gpu_), SizeIs(1));
  EXPECT_EQ(node_.instances(gpu_)[0], foreign);
  EXPECT_EQ(try_destroy(foreign).error().kind, Kind::kNotOurs);
}

TEST_F(Change, NamesTheHoldersOfTheWholeGpu) {
  node_.occupy(gpu_.uuid);
  const auto result = try_create(fast_retry(std::chrono::milliseconds(20)));
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().holders, SizeIs(1));
  EXPECT_THAT(result.error().error.message, HasSubstr("device_test"));
  expect_nothing(result.error(), Kind::kInUse);
  node_.leave(gpu_.uuid);
}

TEST_F(Change, DoesNotTouchAHalfMadeForeignInstance) {
  make_half(node_, gpu_, "2g.10gb", 4);
  const auto result = try_create();
  EXPECT_EQ(result.error().kind, Kind::kNoRoom);
  EXPECT_THAT(result.error().error.message, HasSubstr("(not whole)"));
  EXPECT_THAT(node_.instances(gpu_), SizeIs(1));
}

TEST_F(Change, WithoutMigSaysWhatToRun) {
  Gpu off = gpu_;
  off.mig = MigMode::kOff;
  const auto result =
      create(node_.library(), off, placement(gpu_, "2g.10gb", 4), owned_, fast_retry());
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, Kind::kNotReady);
  EXPECT_THAT(result.error().error.message, HasSubstr("nvidia-smi"));
}

TEST_F(Change, ThatCannotBeRecordedIsNotMade) {
  OwnedInstances unrecordable({}, [](const InstanceLocation&, bool) -> Result<void> {
    return failed("the disk is full.");
  });
  const auto result =
      create(node_.library(), gpu_, placement(gpu_, "2g.10gb", 4), unrecordable, fast_retry());
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().error.message, HasSubstr("the disk is full."));
  expect_nothing(result.error(), Kind::kFailed);
}

// The second record of a creation fails: the instance would not stay Tangram's, so it is destroyed.
TEST_F(Change, ThatCannotBeRecordedAtTheEndIsUndone) {
  int records = 0;
  OwnedInstances unrecordable({}, [&](const InstanceLocation&, bool) -> Result<void> {
    if (++records == 2) return failed("the disk is full.");
    return {};
  });
  const auto result =
      create(node_.library(), gpu_, placement(gpu_, "2g.10gb", 4), unrecordable, fast_retry());
  ASSERT_FALSE(result.has_value());
  expect_nothing(result.error(), Kind::kFailed);
  EXPECT_THAT(unrecordable.locations(), IsEmpty());
}

}  // namespace
}  // namespace tangram::device
