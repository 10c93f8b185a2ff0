// Events and throughput samples: on their own threads, of the right GPU, and not after stop().
#include "device/events.hpp"

#include <atomic>
#include <future>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/throughput_sampler.hpp"
#include "tests/support/device/node.hpp"

namespace tangram::device {
namespace {

using testing::Mailbox;
using testing::must_create;
using testing::Node;
using namespace std::chrono_literals;
using Kind = DeviceEvent::Kind;

class EventsTest : public ::testing::Test {
 protected:
  void begin() {
    events_ = std::make_unique<Events>(node_.shared(), gpus_,
                                       [this](const DeviceEvent& e) { events_seen_.put(e); });
  }

  // Raises Xid 31 on the GPU every 50 ms, because events are lost while GPUs are being registered,
  // and returns the first event that is reported. Fails the test after kDeadline.
  DeviceEvent first_event_after_xids(unsigned gpu) {
    const auto deadline = std::chrono::steady_clock::now() + kDeadline;
    while (!events_seen_.wait_for(50ms)) {
      if (std::chrono::steady_clock::now() > deadline) {
        ADD_FAILURE() << "no event was reported after Xids on GPU " << gpu;
        return {};
      }
      node_.xid(gpu, 31, nvml::kNoInstanceId, nvml::kNoInstanceId);
    }
    return events_seen_.take();
  }

  static constexpr auto kDeadline = 30s;
  static constexpr int kMaxEvents = 10;  // until the one that is expected

  Node node_{"2xA100-40GB"};
  std::vector<Gpu> gpus_ = node_.gpus();
  Mailbox<DeviceEvent> events_seen_;
  std::unique_ptr<Events> events_;
};

TEST_F(EventsTest, ReportAnXidWithItsGpuAndInstance) {
  begin();
  node_.xid(1, 43, 5, 0);
  node_.xid(0, 31, nvml::kNoInstanceId, nvml::kNoInstanceId);
  std::set<std::uint64_t> xids;
  for (int i = 0; i < 2; ++i) {
    const DeviceEvent event = events_seen_.take();
    EXPECT_EQ(event.kind, Kind::kXid);
    EXPECT_EQ(event.gpu_uuid, gpus_[event.xid == 43 ? 1 : 0].uuid);
    EXPECT_EQ(event.gi.has_value(), event.xid == 43);
    xids.insert(event.xid);
  }
  EXPECT_EQ(xids, (std::set<std::uint64_t>{31, 43}));
}

TEST_F(EventsTest, ReportThatTheLayoutChanged) {
  begin();
  OwnedInstances owned;
  must_create(node_, gpus_[1], "1g.5gb", 0, owned);
  const DeviceEvent event = events_seen_.take();
  EXPECT_EQ(event.kind, Kind::kMigConfigChange);
  EXPECT_EQ(event.gpu_uuid, gpus_[1].uuid);
}

TEST_F(EventsTest, ReportALostGpuOnceAndGoOnWithTheOthers) {
  begin();
  node_.fall_off(0);
  DeviceEvent event = events_seen_.take();
  if (event.kind == Kind::kXid) {  // the driver's last event of it
    EXPECT_EQ(event.xid, 79U);
    event = events_seen_.take();
  }
  EXPECT_EQ(event.kind, Kind::kUnavailable);
  EXPECT_EQ(event.gpu_uuid, gpus_[0].uuid);
  EXPECT_EQ(first_event_after_xids(1).gpu_uuid, gpus_[1].uuid);
}

TEST_F(EventsTest, WatchAGpuAgainThatIsBack) {
  begin();
  node_.fall_off(0);
  DeviceEvent event;
  for (int i = 0; i < kMaxEvents && event.kind != Kind::kUnavailable; ++i) {
    event = events_seen_.take();
  }
  ASSERT_EQ(event.kind, Kind::kUnavailable);
  node_.reboot();
  events_->set_gpus(gpus_);
  for (int i = 0; i < kMaxEvents && !HasFailure() && event.xid != 31; ++i) {
    event = first_event_after_xids(0);
  }
  EXPECT_EQ(event.xid, 31U);
  EXPECT_EQ(event.gpu_uuid, gpus_[0].uuid);
}

// set_gpus() does not wait for the driver.
TEST_F(EventsTest, AreNotWaitedForWhenTheDriverHangs) {
  begin();
  node_.fault("nvmlDeviceRegisterEvents=hang:2000", 0);
  const auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) events_->set_gpus(gpus_);
  EXPECT_LT(std::chrono::steady_clock::now() - before, 20s);  // 200 s if each call waited
  node_.clear_faults();
  EXPECT_EQ(first_event_after_xids(0).xid, 31U);
}

TEST_F(EventsTest, LeaveAGpuOutThatHasNone) {
  node_.fault("nvmlDeviceRegisterEvents=NOT_SUPPORTED", 1, 0);
  begin();
  node_.xid(0, 31, nvml::kNoInstanceId, nvml::kNoInstanceId);
  node_.xid(1, 43, nvml::kNoInstanceId, nvml::kNoInstanceId);
  EXPECT_EQ(events_seen_.take().xid, 43U);
}

TEST_F(EventsTest, ReportAGpuThatIsLostBeforeItIsRegistered) {
  node_.fall_off(1);
  begin();
  const DeviceEvent event = events_seen_.take();
  EXPECT_EQ(event.kind, Kind::kUnavailable);
  EXPECT_EQ(event.gpu_uuid, gpus_[1].uuid);
}

// A driver whose wait fails at once is not called in a busy loop.
TEST_F(EventsTest, DoNotSpinOnErrors) {
  node_.fault("nvmlEventSetWait=UNKNOWN", 3);
  begin();
  node_.xid(0, 31, nvml::kNoInstanceId, nvml::kNoInstanceId);
  EXPECT_EQ(events_seen_.take().xid, 31U);
  std::uint64_t failed = 0;
  for (const ErrorCount& e : node_.library().errors()) {
    if (e.call == "nvmlEventSetWait_v2") failed += e.count;
  }
  EXPECT_EQ(failed, 3U);
}

TEST_F(EventsTest, RetryWhenThereIsNoEventSetAtFirst) {
  node_.fault("nvmlEventSetCreate=UNKNOWN", 2);
  begin();
  EXPECT_EQ(first_event_after_xids(0).xid, 31U);
}

TEST_F(EventsTest, StopAtOnceAndForGood) {
  begin();
  const auto before = std::chrono::steady_clock::now();
  events_->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - before, 2s);
  node_.xid(0, 31, nvml::kNoInstanceId, nvml::kNoInstanceId);
  events_.reset();
  EXPECT_TRUE(events_seen_.is_empty());
}

TEST(ThroughputSampler, SamplesEveryGpuRepeatedly) {
  const Node node("2xA100-40GB");
  const auto gpus = node.gpus();
  node.demand(gpus[1].uuid, 3'000'000, 1'000'000);
  Mailbox<std::string> sampled;
  ThroughputSampler counters(
      node.shared(), gpus, 5ms,
      [&](const std::string& uuid, const ThroughputSample&) { sampled.put(uuid); });
  std::multiset<std::string> seen;
  for (int i = 0; i < 100 && (seen.count(gpus[0].uuid) < 2 || seen.count(gpus[1].uuid) < 2); ++i) {
    seen.insert(sampled.take());
  }
  EXPECT_GE(seen.count(gpus[0].uuid), 2U);
  EXPECT_GE(seen.count(gpus[1].uuid), 2U);
  const auto last = counters.last(gpus[1].uuid);
  ASSERT_TRUE(last.has_value());
  EXPECT_GT(last->throughput.to_gpu_kbps, 2'000'000U);
  EXPECT_GT(last->throughput.from_gpu_kbps, 500'000U);
  EXPECT_LE(last->at, std::chrono::steady_clock::now());
  EXPECT_FALSE(counters.last("GPU-none").has_value());
  counters.stop();
}

TEST(ThroughputSampler, DoesNotReadAGpuThatIsLostOrHasNoCounter) {
  const Node node("3xA100-40GB");
  const auto gpus = node.gpus();
  node.fault("nvmlDeviceGetPcieThroughput=NOT_SUPPORTED", 1, 0);
  node.fault("nvmlDeviceGetPcieThroughput=GPU_IS_LOST", 1, 1);
  Mailbox<std::string> sampled;
  const ThroughputSampler counters(
      node.shared(), gpus, 1ms,
      [&](const std::string& uuid, const ThroughputSample&) { sampled.put(uuid); });
  for (int i = 0; i < 5; ++i) EXPECT_EQ(sampled.take(), gpus[2].uuid);
  EXPECT_FALSE(counters.last(gpus[0].uuid).has_value());
}

TEST(ThroughputSampler, GoesOnAfterATransientError) {
  const Node node("1xA100-40GB");
  node.fault("nvmlDeviceGetPcieThroughput=UNKNOWN", 3);
  Mailbox<std::string> sampled;
  const ThroughputSampler counters(
      node.shared(), node.gpus(), 1ms,
      [&](const std::string& uuid, const ThroughputSample&) { sampled.put(uuid); });
  EXPECT_EQ(sampled.take(), node.gpu().uuid);
}

// A thread that hangs in the driver is detached.
TEST(DetachableThread, DoesNotWaitForEverForAThreadThatHangs) {
  auto finished = std::make_shared<std::atomic<bool>>(false);
  auto release = std::make_shared<std::promise<void>>();
  auto ended = std::make_shared<std::promise<void>>();
  const auto stopped = std::async(std::launch::async, [=] {
    DetachableThread thread([=](const std::stop_token&) {
      release->get_future().wait();
      *finished = true;
      ended->set_value();
    });
    thread.stop(20ms);
  });
  EXPECT_EQ(stopped.wait_for(30s), std::future_status::ready) << "stop() joins a thread that hangs";
  EXPECT_FALSE(*finished);
  release->set_value();
  ASSERT_EQ(ended->get_future().wait_for(30s), std::future_status::ready);
  EXPECT_TRUE(*finished);
}

}  // namespace
}  // namespace tangram::device
