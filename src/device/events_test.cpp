// Events and counters: told from their own threads, from the right GPU, and no longer than wanted.
#include "device/events.hpp"

#include <atomic>
#include <future>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/counters.hpp"
#include "device/test_node.hpp"

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
                                       [this](const DeviceEvent& e) { told_.put(e); });
  }

  Node node_{"2xA100-40GB"};
  std::vector<Gpu> gpus_ = node_.gpus();
  Mailbox<DeviceEvent> told_;
  std::unique_ptr<Events> events_;
};

TEST_F(EventsTest, TellAnXidWithItsGpuAndInstance) {
  begin();
  node_.xid(1, 43, 5, 0);
  node_.xid(0, 31, nvml::kNoInstanceId, nvml::kNoInstanceId);
  std::set<std::uint64_t> xids;
  for (int i = 0; i < 2; ++i) {
    const DeviceEvent event = told_.take();
    EXPECT_EQ(event.kind, Kind::kXid);
    EXPECT_EQ(event.gpu_uuid, gpus_[event.xid == 43 ? 1 : 0].uuid);
    EXPECT_EQ(event.gi.has_value(), event.xid == 43);
    xids.insert(event.xid);
  }
  EXPECT_EQ(xids, (std::set<std::uint64_t>{31, 43}));
}

TEST_F(EventsTest, TellThatTheLayoutChanged) {
  begin();
  Owned owned;
  must_create(node_, gpus_[1], "1g.5gb", 0, owned);
  const DeviceEvent event = told_.take();
  EXPECT_EQ(event.kind, Kind::kMigConfigChange);
  EXPECT_EQ(event.gpu_uuid, gpus_[1].uuid);
}

TEST_F(EventsTest, TellALostGpuOnceAndGoOnWithTheOthers) {
  begin();
  node_.fall_off(0);
  DeviceEvent event = told_.take();
  if (event.kind == Kind::kXid) {  // the driver's last word of it
    EXPECT_EQ(event.xid, 79U);
    event = told_.take();
  }
  EXPECT_EQ(event.kind, Kind::kUnavailable);
  EXPECT_EQ(event.gpu_uuid, gpus_[0].uuid);
  // The set is made anew without the lost GPU; the other one is asked until it is heard again.
  for (;;) {
    node_.xid(1, 31, nvml::kNoInstanceId, nvml::kNoInstanceId);
    if (told_.wait_for(100ms)) break;
  }
  EXPECT_EQ(told_.take().gpu_uuid, gpus_[1].uuid);
}

TEST_F(EventsTest, ListenAgainToAGpuThatIsBack) {
  begin();
  node_.fall_off(0);
  while (told_.take().kind != Kind::kUnavailable) continue;
  node_.reboot();
  events_->listen_to(gpus_);
  for (DeviceEvent event; event.xid != 31 || event.gpu_uuid != gpus_[0].uuid;) {
    while (!told_.wait_for(50ms)) node_.xid(0, 31, nvml::kNoInstanceId, nvml::kNoInstanceId);
    event = told_.take();
  }
}

// Whoever wants others to be listened to does not wait until the driver has taken them.
TEST_F(EventsTest, AreNotWaitedForWhenTheDriverHangs) {
  begin();
  node_.fault("nvmlDeviceRegisterEvents=hang:2000", 0);
  for (int i = 0; i < 100; ++i) events_->listen_to(gpus_);  // a hundred times two seconds
  node_.clear_faults();
  while (!told_.wait_for(50ms)) node_.xid(0, 31, nvml::kNoInstanceId, nvml::kNoInstanceId);
  EXPECT_EQ(told_.take().xid, 31U);
}

TEST_F(EventsTest, LeaveAGpuOutThatHasNone) {
  node_.fault("nvmlDeviceRegisterEvents=NOT_SUPPORTED", 1, 0);
  begin();
  node_.xid(0, 31, nvml::kNoInstanceId, nvml::kNoInstanceId);
  node_.xid(1, 43, nvml::kNoInstanceId, nvml::kNoInstanceId);
  EXPECT_EQ(told_.take().xid, 43U);
}

TEST_F(EventsTest, TellAGpuThatIsLostWhenItIsToBeListenedTo) {
  node_.fall_off(1);
  begin();
  const DeviceEvent event = told_.take();
  EXPECT_EQ(event.kind, Kind::kUnavailable);
  EXPECT_EQ(event.gpu_uuid, gpus_[1].uuid);
}

// A driver whose wait fails at once is not asked ten thousand times a second.
TEST_F(EventsTest, DoNotSpinOnErrors) {
  node_.fault("nvmlEventSetWait=UNKNOWN", 3);
  begin();
  node_.xid(0, 31, nvml::kNoInstanceId, nvml::kNoInstanceId);
  EXPECT_EQ(told_.take().xid, 31U);
  std::uint64_t failed = 0;
  for (const ErrorCount& e : node_.library().errors()) {
    if (e.call == "nvmlEventSetWait_v2") failed += e.count;
  }
  EXPECT_EQ(failed, 3U);
}

TEST_F(EventsTest, SurviveThatThereIsNoEventSetAtFirst) {
  node_.fault("nvmlEventSetCreate=UNKNOWN", 2);
  begin();
  while (!told_.wait_for(50ms)) node_.xid(0, 31, nvml::kNoInstanceId, nvml::kNoInstanceId);
  EXPECT_EQ(told_.take().xid, 31U);
}

TEST_F(EventsTest, StopAtOnceAndForGood) {
  begin();
  const auto before = std::chrono::steady_clock::now();
  events_->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - before, 2s);
  node_.xid(0, 31, nvml::kNoInstanceId, nvml::kNoInstanceId);
  events_.reset();
  EXPECT_TRUE(told_.is_empty());
}

TEST(Counters, SampleEveryGpuAgainAndAgain) {
  const Node node("2xA100-40GB");
  const auto gpus = node.gpus();
  node.demand(gpus[1].uuid, 3'000'000, 1'000'000);
  Mailbox<std::string> sampled;
  Counters counters(node.shared(), gpus, 5ms,
                    [&](const std::string& uuid, const ThroughputSample&) { sampled.put(uuid); });
  std::multiset<std::string> seen;
  while (seen.count(gpus[0].uuid) < 2 || seen.count(gpus[1].uuid) < 2) seen.insert(sampled.take());
  const auto last = counters.last(gpus[1].uuid);
  ASSERT_TRUE(last.has_value());
  EXPECT_GT(last->throughput.to_gpu_kbps, 2'000'000U);
  EXPECT_GT(last->throughput.from_gpu_kbps, 500'000U);
  EXPECT_LE(last->at, std::chrono::steady_clock::now());
  EXPECT_FALSE(counters.last("GPU-none").has_value());
  counters.stop();
}

TEST(Counters, DoNotAskAGpuThatIsLostOrHasNoCounter) {
  const Node node("3xA100-40GB");
  const auto gpus = node.gpus();
  node.fault("nvmlDeviceGetPcieThroughput=NOT_SUPPORTED", 1, 0);
  node.fault("nvmlDeviceGetPcieThroughput=GPU_IS_LOST", 1, 1);
  Mailbox<std::string> sampled;
  const Counters counters(
      node.shared(), gpus, 1ms,
      [&](const std::string& uuid, const ThroughputSample&) { sampled.put(uuid); });
  for (int i = 0; i < 5; ++i) EXPECT_EQ(sampled.take(), gpus[2].uuid);
  EXPECT_FALSE(counters.last(gpus[0].uuid).has_value());
}

TEST(Counters, GoOnAfterAnErrorThatPasses) {
  const Node node("1xA100-40GB");
  node.fault("nvmlDeviceGetPcieThroughput=UNKNOWN", 3);
  Mailbox<std::string> sampled;
  const Counters counters(
      node.shared(), node.gpus(), 1ms,
      [&](const std::string& uuid, const ThroughputSample&) { sampled.put(uuid); });
  EXPECT_EQ(sampled.take(), node.gpu().uuid);
}

// A thread that hangs in the driver is left behind, and says nothing any more.
TEST(Background, DoesNotWaitForEverForAThreadThatHangs) {
  auto finished = std::make_shared<std::atomic<bool>>(false);
  auto release = std::make_shared<std::promise<void>>();
  auto is_over = std::make_shared<std::promise<void>>();
  {
    Background thread([=](const std::stop_token&) {
      release->get_future().wait();
      *finished = true;
      is_over->set_value();
    });
    thread.stop(20ms);
    EXPECT_FALSE(*finished);
  }
  release->set_value();
  is_over->get_future().wait();
  EXPECT_TRUE(*finished);
}

}  // namespace
}  // namespace tangram::device
