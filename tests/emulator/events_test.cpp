// Events: changes by one process are reported to others; and a GPU that falls off the bus.
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "child.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

using nvml::kSuccess;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr unsigned kLong = 20'000;  // ms; events arrive at once
constexpr unsigned long long kBoth = nvml::kEventXid | nvml::kEventMigConfigChange;

class Events {
 public:
  explicit Events(unsigned long long types, unsigned gpus = 1) {
    EXPECT_EQ(NVML(nvmlEventSetCreate)(&set_), kSuccess);
    for (unsigned i = 0; i < gpus; ++i) {
      EXPECT_EQ(NVML(nvmlDeviceRegisterEvents)(gpu(i), types, set_), kSuccess);
    }
  }
  ~Events() { NVML(nvmlEventSetFree)(set_); }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  Events(Events&&) = delete;
  Events& operator=(Events&&) = delete;

  // "code" or "code gpu type data gi ci" of the next one; ids of none are "-".
  [[nodiscard]] std::string next(unsigned timeout_ms = kLong) const {
    nvml::EventData data{};
    const auto result = NVML(nvmlEventSetWait_v2)(set_, &data, timeout_ms);
    if (result != kSuccess) return code(result);
    unsigned index = 99;
    NVML(nvmlDeviceGetIndex)(data.device, &index);
    const auto id = [](unsigned n) { return n == nvml::kNoInstanceId ? "-" : cat(n); };
    return cat("0 gpu", index, " type", data.event_type, " data", data.event_data, " gi",
               id(data.gpu_instance_id), " ci", id(data.compute_instance_id));
  }
  [[nodiscard]] nvml::EventSet handle() const { return set_; }

 private:
  nvml::EventSet set_ = nullptr;
};

TEST(EventSets, ReportInstancesToOtherProcesses) {
  const Setting setting("2xA100-40GB");
  Child listener([](Channel& channel) {
    const Session session;
    const Events events(nvml::kEventMigConfigChange, 2);
    channel.send("ready");
    for (int i = 0; i < 4; ++i) channel.send(events.next());
    return 0;
  });
  const Session session;
  ASSERT_EQ(listener.channel().receive(), "ready");
  const Instance instance = create(gpu(1), "3g.20gb@4");
  ASSERT_EQ(destroy(instance), kSuccess);
  for (int i = 0; i < 4; ++i) {  // two instances come, two go
    EXPECT_EQ(listener.channel().receive(), "0 gpu1 type256 data0 gi- ci-");
  }
}

TEST(EventSets, WaitForAnEventThatComesLater) {
  const Setting setting("A100-40GB");
  Child listener([](Channel& channel) {
    const Session session;
    const Events events(kBoth);
    channel.send("ready");
    channel.send(events.next());
    return 0;
  });
  const Session session;
  ASSERT_EQ(listener.channel().receive(), "ready");
  ASSERT_EQ(NVML(tangramEmulatorXid)(0, 31, 2, 0), kSuccess);
  EXPECT_EQ(listener.channel().receive(), "0 gpu0 type8 data31 gi2 ci0");
}

TEST(EventSets, TimeOutNotEarlier) {
  const Node node("A100-40GB");
  const Events events(kBoth);
  EXPECT_EQ(events.next(0), "10");
  const auto begin = Clock::now();
  EXPECT_EQ(events.next(50), "10");
  EXPECT_GE(Clock::now() - begin, milliseconds(50));
}

TEST(EventSets, GiveWhatTheyAreRegisteredFor) {
  const Node node("2xA100-40GB");
  const Events xids(nvml::kEventXid);
  const Instance instance = create(gpu(0), "1g.5gb@0");
  ASSERT_EQ(NVML(tangramEmulatorXid)(1, 13, nvml::kNoInstanceId, nvml::kNoInstanceId), kSuccess);
  ASSERT_EQ(NVML(tangramEmulatorXid)(0, 94, nvml::kNoInstanceId, nvml::kNoInstanceId), kSuccess);
  EXPECT_EQ(xids.next(), "0 gpu0 type8 data94 gi- ci-");
  EXPECT_EQ(xids.next(0), "10") << "neither other types nor other GPUs";
  const Events later(kBoth, 2);
  EXPECT_EQ(later.next(0), "10") << "nor what was before the registration";
}

TEST(EventSets, KeepTheOrderAndForgetTheOldest) {
  const Node node("A100-40GB");
  const Events events(nvml::kEventXid);
  for (unsigned i = 0; i < 40; ++i) ASSERT_EQ(NVML(tangramEmulatorXid)(0, i, 0, 0), kSuccess);
  for (unsigned i = 8; i < 40; ++i) {
    ASSERT_EQ(events.next(0), cat("0 gpu0 type8 data", i, " gi0 ci0"));
  }
  EXPECT_EQ(events.next(0), "10");
}

TEST(EventSets, AreCheckedLikeOtherHandles) {
  const Node node("A100-40GB");
  nvml::EventSet set = nullptr;
  nvml::EventData data{};
  EXPECT_EQ(NVML(nvmlEventSetWait_v2)(nullptr, &data, 0), nvml::kInvalidArgument);
  ASSERT_EQ(NVML(nvmlEventSetCreate)(&set), kSuccess);
  EXPECT_EQ(NVML(nvmlEventSetWait_v2)(set, nullptr, 0), nvml::kInvalidArgument);
  EXPECT_EQ(NVML(nvmlDeviceRegisterEvents)(gpu(0), 0x10, set), nvml::kNotSupported);
  EXPECT_EQ(NVML(nvmlDeviceRegisterEvents)(gpu(0), kBoth, set), kSuccess) << "still usable";
  unsigned long long types = 0;
  ASSERT_EQ(NVML(nvmlDeviceGetSupportedEventTypes)(gpu(0), &types), kSuccess);
  EXPECT_EQ(types & kBoth, kBoth);
  EXPECT_EQ(NVML(nvmlEventSetFree)(set), kSuccess);
  EXPECT_EQ(NVML(nvmlEventSetFree)(set), nvml::kInvalidArgument);
  EXPECT_EQ(NVML(nvmlEventSetWait_v2)(set, &data, 0), nvml::kInvalidArgument);
  EXPECT_EQ(NVML(nvmlEventSetCreate)(nullptr), nvml::kInvalidArgument);
}

TEST(AGpuThatFallsOff, SaysSoAndIsLostForEveryCall) {
  const Setting setting("2xA100-40GB");
  Child listener([](Channel& channel) {
    const Session session;
    const Events events(kBoth, 2);
    channel.send("ready");
    channel.send(events.next());
    channel.send(events.next());
    channel.send(events.next(0));
    return 0;
  });
  const Session session;
  const nvml::Device lost = gpu(0);
  const std::string uuid = uuid_of(lost);
  ASSERT_EQ(listener.channel().receive(), "ready");
  ASSERT_EQ(NVML(tangramEmulatorFallOff)(0), kSuccess);
  EXPECT_EQ(listener.channel().receive(), "0 gpu99 type8 data79 gi- ci-");
  EXPECT_EQ(listener.channel().receive(), "15");
  EXPECT_EQ(listener.channel().receive(), "10") << "reported once";
  unsigned number = 0;
  nvml::Device device = nullptr;
  EXPECT_EQ(NVML(nvmlDeviceGetMigMode)(lost, &number, &number), nvml::kGpuIsLost);
  EXPECT_EQ(NVML(nvmlDeviceGetHandleByIndex_v2)(0, &device), nvml::kGpuIsLost);
  EXPECT_EQ(NVML(nvmlDeviceGetHandleByUUID)(uuid.c_str(), &device), nvml::kGpuIsLost);
  EXPECT_EQ(NVML(nvmlDeviceGetCount_v2)(&number), kSuccess);
  EXPECT_EQ(number, 2U);
  const Instance other = create(gpu(1), "3g.20gb@4");
  EXPECT_EQ(destroy(other), kSuccess);
  EXPECT_NE(status().find("\"lost\": true"), std::string::npos);
  ASSERT_EQ(NVML(tangramEmulatorReboot)(), kSuccess);
  EXPECT_EQ(NVML(nvmlDeviceGetMigMode)(lost, &number, &number), kSuccess);
}

// It falls off during a call: the call must not report success.
TEST(AGpuThatFallsOff, TakesTheCallsOnTheirWayWithIt) {
  const Node node("[latency]\ndestroy_compute_instance = 600\n[[gpu]]\nmodel = \"A100-40GB\"\n",
                  "1");
  const Instance instance = create(gpu(0), "3g.20gb@4");
  Child breaker([](Channel&) { return NVML(tangramEmulatorFallOff)(0) == kSuccess ? 0 : 1; });
  EXPECT_EQ(NVML(nvmlComputeInstanceDestroy)(instance.ci), nvml::kGpuIsLost);
  EXPECT_EQ(breaker.wait(), 0);
}

}  // namespace
}  // namespace tangram::tests
