// Several clients at once, in several processes and in several threads of one: no update is lost,
// no placement is given twice, and counts add up.
#include <array>
#include <atomic>
#include <barrier>
#include <numeric>
#include <sched.h>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "child.hpp"
#include "listing.hpp"
#include "mig/catalog.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

constexpr unsigned kRounds = 300;

// Creates as many 1g as it can, and destroys them again unless `keep`.
unsigned grab_all(std::vector<nvml::GpuInstance>& kept) {
  const unsigned id = profile_id(gpu(0), "1g.5gb");
  for (nvml::GpuInstance gi = nullptr;;) {
    const auto result = NVML(nvmlDeviceCreateGpuInstance)(gpu(0), id, &gi);
    if (result == nvml::kInsufficientResources) return static_cast<unsigned>(kept.size());
    EXPECT_EQ(result, nvml::kSuccess);
    if (result != nvml::kSuccess) return 0;
    kept.push_back(gi);
  }
}

int grab_on_message(Channel& channel) {
  const Session session;
  channel.send("ready");
  std::string order;
  while (channel.receive(order)) {
    std::vector<nvml::GpuInstance> kept;
    channel.send(cat(grab_all(kept)));
    if (!channel.receive(order)) return 1;
    for (nvml::GpuInstance gi : kept) {
      if (NVML(nvmlGpuInstanceDestroy)(gi) != nvml::kSuccess) return 2;
    }
    channel.send("destroyed");
  }
  return 0;
}

TEST(TwoProcesses, ShareAGpuWithoutLosingOrDoublingAPlace) {
  const Setting setting("A100-40GB");
  Child first(grab_on_message);
  Child second(grab_on_message);
  const Session session;
  ASSERT_EQ(first.channel().receive(), "ready");
  ASSERT_EQ(second.channel().receive(), "ready");
  for (unsigned round = 0; round < kRounds; ++round) {
    first.channel().send("grab");
    second.channel().send("grab");
    const int total = std::stoi(first.channel().receive()) + std::stoi(second.channel().receive());
    ASSERT_EQ(total, 7) << "round " << round;
    ASSERT_EQ(list(gpu(0)).size(), 7U);
    first.channel().send("destroy");
    second.channel().send("destroy");
    ASSERT_EQ(first.channel().receive(), "destroyed");
    ASSERT_EQ(second.channel().receive(), "destroyed");
    ASSERT_EQ(to_text(list(gpu(0))), "");
  }
}

// Each thread creates and destroys on its own GPU and on a shared one.
void work(unsigned own, std::atomic<unsigned>& created, std::atomic<unsigned>& destroyed) {
  constexpr unsigned kShared = 0;
  for (unsigned round = 0; round < kRounds; ++round) {
    const Instance mine = create(gpu(own), "3g.20gb@4");
    ++created;
    nvml::GpuInstance gi = nullptr;
    const unsigned id = profile_id(gpu(kShared), "2g.10gb");
    const auto result = NVML(nvmlDeviceCreateGpuInstance)(gpu(kShared), id, &gi);
    if (result == nvml::kSuccess) {
      ++created;
      if (NVML(nvmlGpuInstanceDestroy)(gi) == nvml::kSuccess) ++destroyed;
    } else {
      EXPECT_EQ(result, nvml::kInsufficientResources);
    }
    if (destroy(mine) == nvml::kSuccess) ++destroyed;
  }
}

TEST(ThreadsOfTwoProcesses, LoseNoUpdate) {
  constexpr unsigned kThreads = 3;
  const Setting setting("8xA100-40GB");
  const auto run = [](unsigned first_gpu) {
    const Session session;
    std::atomic<unsigned> created = 0;
    std::atomic<unsigned> destroyed = 0;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] { work(first_gpu + i, created, destroyed); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(created, destroyed);
    return testing::Test::HasFailure() || created < kThreads * kRounds ? 1 : 0;
  };
  Child other([&](Channel&) { return run(4); });
  EXPECT_EQ(run(1), 0);
  EXPECT_EQ(other.wait(), 0);
  const Session session;
  for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(to_text(list(gpu(i))), "") << "GPU " << i;
}

// Creates seven instances at once by resetting the node, and removes them at once by resetting the
// GPU.
constexpr const char* kSevenOrNone =
    "[[gpu]]\nmodel = \"A100-40GB\"\ninstances = [\"1g.5gb@0\", \"1g.5gb@1\", \"1g.5gb@2\", "
    "\"1g.5gb@3\", \"1g.5gb@4\", \"1g.5gb@5\", \"1g.5gb@6\"]\n";

// An odd number of changes, so that each of the record's two copies gets to be either.
void toggle() {
  EXPECT_EQ(NVML(tangramEmulatorResetGpu)(0), nvml::kSuccess);
  EXPECT_EQ(NVML(tangramEmulatorXid)(0, 1, 0, 0), nvml::kSuccess);
  EXPECT_EQ(NVML(tangramEmulatorReset)(nullptr), nvml::kSuccess);
}

// Within one call, which reads the state once.
unsigned instances_now(unsigned profile) {
  nvml::GpuInstance all[8]{};
  unsigned count = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetGpuInstances)(gpu(0), profile, all, &count), nvml::kSuccess);
  return count;
}

// How often a reader saw each number of instances while a writer changed it continuously.
std::array<unsigned, 8> counts_seen() {
  std::array<unsigned, 8> seen{};
  const unsigned profile = profile_id(gpu(0), "1g.5gb");
  Child writer([](Channel& channel) {
    channel.send("begun");
    for (unsigned round = 0; round < 5000; ++round) toggle();
    channel.send("done");
    return testing::Test::HasFailure() ? 1 : 0;
  });
  EXPECT_EQ(writer.channel().receive(), "begun");
  while (!writer.channel().has_message()) ++seen[instances_now(profile)];
  EXPECT_EQ(writer.wait(), 0);
  return seen;
}

void expect_seven_or_none(const std::array<unsigned, 8>& seen) {
  EXPECT_GT(seen[0], 0U);
  EXPECT_GT(seen[7], 0U);
  EXPECT_EQ(std::accumulate(seen.begin() + 1, seen.begin() + 7, 0U), 0U) << "some, but not all";
}

TEST(Readers, NeverSeeHalfAChange) {
  const Node node(kSevenOrNone);
  expect_seven_or_none(counts_seen());
}

// On one CPU, reader and writer preempt each other in the middle of a copy.
TEST(Readers, NeverSeeHalfAChangeOnOneCpu) {
  const Node node(kSevenOrNone);
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);  // children inherit it
  expect_seven_or_none(counts_seen());
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(KilledClients, LeaveAllOfAChangeOrNothing) {
  const Setting setting(kSevenOrNone);
  for (unsigned kill = 0; kill < 300; ++kill) {
    Child writer([](Channel& channel) {
      const Session session;
      channel.send("begun");
      while (true) toggle();
      return 0;
    });
    ASSERT_EQ(writer.channel().receive(), "begun");
    const Session session;
    const unsigned profile = profile_id(gpu(0), "1g.5gb");
    writer.kill();
    const unsigned left = instances_now(profile);
    ASSERT_TRUE(left == 0 || left == 7) << left;
  }
}

// nvmlInit is counted over all threads.
TEST(Sessions, AreCountedOverThreads) {
  const Setting setting("A30");
  std::barrier together(4);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      together.arrive_and_wait();
      for (unsigned round = 0; round < kRounds; ++round) {
        const Session session;
        unsigned count = 0;
        EXPECT_EQ(NVML(nvmlDeviceGetCount_v2)(&count), nvml::kSuccess);
        EXPECT_EQ(count, 1U);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(NVML(nvmlShutdown)(), nvml::kUninitialized);
}

}  // namespace
}  // namespace tangram::tests
