// Workers: order on one GPU, independence of others, calls that hang, shutdown.
#include "device/workers.hpp"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/device/node.hpp"

namespace tangram::device {
namespace {

using testing::fast_retry;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Mailbox;
using testing::Node;
using testing::placement;
using ::testing::SizeIs;
using namespace std::chrono_literals;
using Kind = Failure::Kind;

class WorkersTest : public ::testing::Test {
 protected:
  static Workers::Limits limits(std::chrono::milliseconds time = 60s) {
    return {.time = time, .retry = fast_retry()};
  }
  void begin() {
    workers_ = std::make_unique<Workers>(node_.shared(), owned_, gpus_,
                                         [this](const Reconciled& r) { reconciled_.put(r); });
  }
  void create(std::size_t gpu, const char* profile, int start,
              std::chrono::milliseconds time = 60s) {
    workers_->create(gpus_[gpu].uuid, placement(gpus_[gpu], profile, start), limits(time),
                     [this](Outcome<Instance> result) { created_.put(std::move(result)); });
  }
  void destroy(const Instance& instance, std::chrono::milliseconds time = 60s) {
    workers_->destroy(instance.gpu_uuid, instance, limits(time),
                      [this](Outcome<void> result) { destroyed_.put(std::move(result)); });
  }

  Node node_{"2xA100-40GB"};
  std::vector<Gpu> gpus_ = node_.gpus();
  std::shared_ptr<OwnedInstances> owned_ = std::make_shared<OwnedInstances>();
  Mailbox<Outcome<Instance>> created_;
  Mailbox<Outcome<void>> destroyed_;
  Mailbox<Reconciled> reconciled_;
  std::unique_ptr<Workers> workers_;
};

TEST_F(WorkersTest, ChangeAGpuInTheOrderOfTheRequests) {
  begin();
  for (const int start : {0, 1, 2, 3}) create(0, "1g.5gb", start);
  for (const unsigned start : {0U, 1U, 2U, 3U}) {
    const auto made = created_.take();
    ASSERT_TRUE(made.has_value()) << made.error().error.message;
    EXPECT_EQ(made->start, start);
    destroy(*made);
    EXPECT_TRUE(destroyed_.take().has_value());
  }
  EXPECT_THAT(node_.instances(gpus_[0]), IsEmpty());
}

TEST_F(WorkersTest, ChangeTwoGpusAtOnce) {
  begin();
  node_.fault("nvmlDeviceCreateGpuInstanceWithPlacement=hang:400", 1, 0);
  create(0, "1g.5gb", 0);
  create(1, "1g.5gb", 0);
  EXPECT_EQ(created_.take()->gpu_uuid, gpus_[1].uuid);  // did not wait for the first
  EXPECT_EQ(created_.take()->gpu_uuid, gpus_[0].uuid);
}

TEST_F(WorkersTest, RefuseAGpuTheyDoNotKnow) {
  begin();
  workers_->create("GPU-none", {}, limits(), [&](Outcome<Instance> r) { created_.put(r); });
  EXPECT_EQ(created_.take().error().kind, Kind::kNotThere);
  EXPECT_FALSE(workers_->is_responsive("GPU-none"));
}

TEST_F(WorkersTest, GiveUpACallThatHangsAndReadTheGpuWhenItReturns) {
  begin();
  node_.fault("nvmlDeviceCreateGpuInstanceWithPlacement=hang:1500", 1, 0);
  create(0, "2g.10gb", 4, 100ms);
  create(0, "1g.5gb", 0, 100ms);  // waits behind it
  for (int i = 0; i < 2; ++i) {
    const auto given_up = created_.take();
    ASSERT_FALSE(given_up.has_value());
    EXPECT_EQ(given_up.error().kind, Kind::kUnresponsive);
    EXPECT_EQ(given_up.error().leftover, Failure::Leftover::kUnknown);
    EXPECT_THAT(given_up.error().error.message, HasSubstr("does not return"));
  }
  EXPECT_FALSE(workers_->is_responsive(gpus_[0].uuid));
  EXPECT_TRUE(workers_->is_responsive(gpus_[1].uuid));
  create(0, "1g.5gb", 0);  // refused at once
  EXPECT_EQ(created_.take().error().kind, Kind::kUnresponsive);
  create(1, "1g.5gb", 0);  // the other GPU works
  EXPECT_TRUE(created_.take().has_value());

  const Reconciled late = reconciled_.take();
  EXPECT_EQ(late.gpu_uuid, gpus_[0].uuid);
  ASSERT_TRUE(late.instances.has_value()) << late.instances.error().error.message;
  ASSERT_THAT(*late.instances, SizeIs(1));  // it was created after all, and is Tangram's
  EXPECT_EQ(late.instances->front().profile, "2g.10gb");
  EXPECT_TRUE(owned_->has(location_of(late.instances->front())));
  EXPECT_TRUE(created_.is_empty());  // no second answer
  EXPECT_TRUE(workers_->is_responsive(gpus_[0].uuid));

  destroy(late.instances->front());
  EXPECT_TRUE(destroyed_.take().has_value());
  EXPECT_THAT(node_.instances(gpus_[0]), IsEmpty());
}

// A location at which no instance was seen is released; a claim made afterwards stays.
TEST_F(WorkersTest, ReleaseWhatIsGoneInTheOrderOfTheRequests) {
  begin();
  const InstanceLocation location{gpus_[0].uuid, "1g.5gb", 0};
  ASSERT_TRUE(owned_->claim(location).has_value());
  Mailbox<Outcome<void>> released;
  const auto report = [&](Outcome<void> result) { released.put(std::move(result)); };
  workers_->release(gpus_[0].uuid, owned_->gone(gpus_[0].uuid, {}), limits(), report);
  create(0, "1g.5gb", 0);
  EXPECT_TRUE(released.take().has_value());
  ASSERT_TRUE(created_.take().has_value());
  EXPECT_TRUE(owned_->has(location));
}

// A query that hangs is given up; queries of other GPUs are answered.
TEST_F(WorkersTest, QueryEachGpuSeparately) {
  begin();
  node_.fault("nvmlDeviceGetMigMode=hang:1500", 1, 0);
  Mailbox<std::string> answers;
  const auto query_gpu = [&](std::size_t gpu, std::chrono::milliseconds time) {
    const auto query = [&answers, library = node_.shared(), uuid = gpus_[gpu].uuid]() {
      const auto read = read_gpu(*library, uuid);
      return [&answers, read] { answers.put(read ? read->uuid : read.error().error.message); };
    };
    workers_->query_gpu(gpus_[gpu].uuid, time, query,
                        [&](const Failure& why) { answers.put(why.error.message); });
  };
  query_gpu(0, 100ms);
  EXPECT_THAT(answers.take(), HasSubstr("does not return"));
  query_gpu(1, 60s);
  EXPECT_EQ(answers.take(), gpus_[1].uuid);
  query_gpu(0, 60s);  // refused at once
  EXPECT_THAT(answers.take(), HasSubstr("does not return"));
  EXPECT_EQ(reconciled_.take().gpu_uuid, gpus_[0].uuid);
  query_gpu(0, 60s);
  EXPECT_EQ(answers.take(), gpus_[0].uuid);
}

TEST_F(WorkersTest, GiveUpADestructionThatHangs) {
  begin();
  create(0, "2g.10gb", 4);
  const auto made = created_.take();
  node_.fault("nvmlGpuInstanceDestroy=hang:1000", 1, 0);
  destroy(*made, 100ms);
  EXPECT_EQ(destroyed_.take().error().kind, Kind::kUnresponsive);
  const Reconciled late = reconciled_.take();
  ASSERT_TRUE(late.instances.has_value());
  EXPECT_THAT(*late.instances, IsEmpty());
  EXPECT_THAT(owned_->locations(), IsEmpty());
  EXPECT_TRUE(destroyed_.is_empty());
}

TEST_F(WorkersTest, ReportAGpuThatIsLostAfterTheHang) {
  begin();
  node_.fault("nvmlDeviceCreateGpuInstanceWithPlacement=hang:800", 1, 0);
  create(0, "2g.10gb", 4, 100ms);
  EXPECT_EQ(created_.take().error().kind, Kind::kUnresponsive);
  node_.fall_off(0);
  const Reconciled late = reconciled_.take();
  ASSERT_FALSE(late.instances.has_value());
  EXPECT_EQ(late.instances.error().kind, Kind::kLost);
}

// "In use" is no timeout: the retries end in time, and the holders are reported.
TEST_F(WorkersTest, DoNotTakeInUseForAHang) {
  begin();
  create(0, "2g.10gb", 4);
  const auto made = created_.take();
  node_.occupy(made->mig_uuid);
  destroy(*made, 3s);
  const auto result = destroyed_.take();
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, Kind::kInUse);
  EXPECT_THAT(result.error().holders, SizeIs(1));
  EXPECT_TRUE(workers_->is_responsive(gpus_[0].uuid));
}

TEST_F(WorkersTest, EndByRefusingWhatWaits) {
  begin();
  node_.fault("nvmlDeviceCreateGpuInstanceWithPlacement=hang:300", 1, 0);
  create(0, "1g.5gb", 0);
  create(0, "1g.5gb", 1);
  workers_.reset();
  int made = 0;
  int refused = 0;
  for (int i = 0; i < 2; ++i) {
    const auto result = created_.take();
    ++(result ? made : refused);
    if (!result) {
      EXPECT_THAT(result.error().error.message, HasSubstr("stopping"));
    }
  }
  EXPECT_LE(made, 1);  // the first may not have begun
  EXPECT_GE(refused, 1);
  EXPECT_THAT(node_.instances(gpus_[0]), SizeIs(made));
}

TEST_F(WorkersTest, EndWithoutWaitingForInUse) {
  begin();
  create(0, "2g.10gb", 4);
  const auto made = created_.take();
  node_.occupy(made->mig_uuid);
  destroy(*made, std::chrono::hours(10));
  workers_.reset();  // does not wait for the retries to end
  EXPECT_FALSE(destroyed_.take().has_value());
}

TEST_F(WorkersTest, EndWhileACallHangs) {
  begin();
  node_.fault("nvmlDeviceCreateGpuInstanceWithPlacement=hang:1500", 1, 0);
  create(0, "2g.10gb", 4, 50ms);
  EXPECT_EQ(created_.take().error().kind, Kind::kUnresponsive);
  const auto before = std::chrono::steady_clock::now();
  workers_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - before, 1s);
  EXPECT_TRUE(reconciled_.is_empty());
  // The detached thread ends on its own; the node must live until then.
  while (node_.shared().use_count() > 1) {
    ASSERT_LT(std::chrono::steady_clock::now() - before, 60s) << "the detached thread did not end";
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_TRUE(reconciled_.is_empty());
}

TEST_F(WorkersTest, UseAGpuThatWasReadAgain) {
  const std::vector<Gpu> all = gpus_;
  Gpu off = all[1];
  off.mig = MigMode::kOff;
  gpus_ = {all[0], off};
  begin();
  create(1, "1g.5gb", 0);
  EXPECT_EQ(created_.take().error().kind, Kind::kNotReady);
  workers_->update(all[1]);
  create(1, "1g.5gb", 0);
  EXPECT_TRUE(created_.take().has_value());
}

}  // namespace
}  // namespace tangram::device
