// Clients that are killed at random moments. Five hundred times a process makes random calls that
// change the node and is killed; the node must then be legal and its lock free. The seed of a
// failure is printed, though the moment of a kill cannot be repeated.
#include <chrono>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "child.hpp"
#include "listing.hpp"
#include "mig/catalog.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kKills = 500;
constexpr unsigned kSeed = 7;
constexpr auto kAtOnce = std::chrono::seconds(5);  // generous: it is microseconds
constexpr const char* kModels[] = {"A100-40GB", "A30-24GB"};

class RandomClient {
 public:
  explicit RandomClient(unsigned seed) : random_(seed) {}

  // One call that changes something, most of them instances.
  void act() {
    gpu_ = gpu(draw(2));
    switch (draw(12)) {
      case 0:
        NVML(tangramEmulatorFault)("nvmlDeviceGetBoardId=TIMEOUT", -1, 1 + draw(3), 50);
        return;
      case 1:
        NVML(tangramEmulatorClearFaults)();
        return;
      case 2:
        NVML(tangramEmulatorXid)(draw(2), 31, nvml::kNoInstanceId, nvml::kNoInstanceId);
        return;
      case 3:
        with_a_process();
        return;
      case 4:
      case 5:
      case 6:
        destroy_one();
        return;
      default:
        create_one();
    }
  }

 private:
  unsigned draw(unsigned below) {
    return std::uniform_int_distribution<unsigned>(0, below - 1)(random_);
  }

  void create_one() {
    nvml::GiProfileInfo profile{};
    if (NVML(nvmlDeviceGetGpuInstanceProfileInfo)(gpu_, draw(5), &profile) != nvml::kSuccess) {
      return;
    }
    nvml::GpuInstance gi = nullptr;
    if (NVML(nvmlDeviceCreateGpuInstance)(gpu_, profile.id, &gi) != nvml::kSuccess) return;
    nvml::ComputeInstance ci = nullptr;
    for (unsigned tries = 0; tries < 3; ++tries) {
      NVML(nvmlGpuInstanceCreateComputeInstance)(gi, draw(5), &ci);
    }
  }

  void destroy_one() {
    const auto all = list(gpu_);
    if (all.empty()) return;
    const ListedGi& gi = all[draw(static_cast<unsigned>(all.size()))];
    for (const ListedCi& ci : gi.cis) NVML(nvmlComputeInstanceDestroy)(ci.handle);
    NVML(nvmlGpuInstanceDestroy)(gi.handle);
  }

  void with_a_process() {
    nvml::Device mig = nullptr;
    if (NVML(nvmlDeviceGetMigDeviceHandleByIndex)(gpu_, 0, &mig) != nvml::kSuccess) return;
    const std::string uuid = uuid_of(mig);
    const auto self = static_cast<unsigned>(getpid());
    NVML(tangramEmulatorRegister)(uuid.c_str(), self, 1000);
    NVML(tangramEmulatorDemand)(uuid.c_str(), self, draw(1000), draw(1000));
    NVML(tangramEmulatorUnregister)(uuid.c_str(), self);
  }

  std::mt19937 random_;
  nvml::Device gpu_ = nullptr;
};

// Reports its start and then runs until it is killed.
int change_for_ever(Channel& channel, unsigned seed) {
  const Session session;
  RandomClient client(seed);
  channel.send("begun");
  while (true) client.act();
}

// Exercises what the node must still be able to do; returns how long that took.
Clock::duration use_the_node() {
  const auto begin = Clock::now();
  const Session session;
  for (unsigned i = 0; i < 2; ++i) {
    const mig::Model& model = **mig::find_model(kModels[i]);
    EXPECT_EQ(flaw(gpu(i), model), "");
    EXPECT_EQ(NVML(tangramEmulatorXid)(i, 31, 0, 0), nvml::kSuccess);  // takes the lock
  }
  EXPECT_EQ(NVML(tangramEmulatorClearFaults)(), nvml::kSuccess);
  return Clock::now() - begin;
}

// Dead clients leave nothing in use: everything can be destroyed.
void empty_the_node() {
  const Session session;
  for (unsigned i = 0; i < 2; ++i) {
    for (const ListedGi& gi : list(gpu(i))) {
      for (const ListedCi& ci : gi.cis) {
        ASSERT_EQ(NVML(nvmlComputeInstanceDestroy)(ci.handle), nvml::kSuccess);
      }
      ASSERT_EQ(NVML(nvmlGpuInstanceDestroy)(gi.handle), nvml::kSuccess);
    }
    EXPECT_EQ(to_text(list(gpu(i))), "");
  }
}

TEST(KilledClients, NeverLeaveATornNodeOrALock) {
  const Setting setting(cat(kModels[0], ",", kModels[1]));
  std::mt19937 random(kSeed);
  for (unsigned kill = 0; kill < kKills && !testing::Test::HasFailure(); ++kill) {
    const unsigned seed = kSeed + kill;
    SCOPED_TRACE(cat("kill ", kill, ", client's seed ", seed));
    Child client([&](Channel& channel) { return change_for_ever(channel, seed); });
    ASSERT_EQ(client.channel().receive(), "begun");
    const auto moment = Clock::now() + std::chrono::microseconds(
                                           std::uniform_int_distribution<int>(0, 2000)(random));
    while (Clock::now() < moment) {
    }
    client.kill();
    EXPECT_LT(use_the_node(), kAtOnce);
    if (kill % 10 == 9) empty_the_node();
  }
}

// The same while another client keeps working, which must not be affected.
TEST(KilledClients, DoNotDisturbTheLiving) {
  const Setting setting(cat(kModels[0], ",", kModels[1]));
  Child steady([](Channel& channel) {
    const Session session;
    channel.send("begun");
    std::string stop;
    for (unsigned round = 0; round < 2000; ++round) {
      for (unsigned i = 0; i < 2; ++i) {
        if (NVML(tangramEmulatorXid)(i, 13, 0, 0) != nvml::kSuccess) return 1;
        unsigned current = 0;
        unsigned pending = 0;
        if (NVML(nvmlDeviceGetMigMode)(gpu(i), &current, &pending) != nvml::kSuccess) return 2;
        if (current != 1 || pending != 1) return 3;
      }
    }
    return 0;
  });
  ASSERT_EQ(steady.channel().receive(), "begun");
  for (unsigned kill = 0; kill < 50; ++kill) {
    Child client([&](Channel& channel) { return change_for_ever(channel, kill); });
    ASSERT_EQ(client.channel().receive(), "begun");
    client.kill();
  }
  EXPECT_EQ(steady.wait(), 0);
  EXPECT_LT(use_the_node(), kAtOnce);
}

}  // namespace
}  // namespace tangram::tests
