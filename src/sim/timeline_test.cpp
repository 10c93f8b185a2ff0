// The two heaps of virtual time against naive models: replies come in order of time and then of
// entry, milestones in order of time and then of slot, wherever they were shifted to.
#include "sim/timeline.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace tangram::sim {
namespace {

Instant at(std::int64_t micros) { return Instant(Duration(micros)); }

TEST(Replies, EqualInstantsKeepTheOrderOfEntry) {
  Replies replies;
  for (std::uint32_t i = 0; i < 100; ++i) {
    replies.push({.when = at(i % 3), .gpu = core::GpuId(i)});
  }
  std::vector<std::uint32_t> order;
  while (!replies.empty()) order.push_back(replies.pop().gpu.value());
  std::vector<std::uint32_t> expected(100);
  for (std::uint32_t i = 0; i < 100; ++i) expected[i] = i;
  std::ranges::stable_sort(expected, {}, [](std::uint32_t i) { return i % 3; });
  EXPECT_EQ(order, expected);
}

// Pushed and popped in turn, as in a simulation: what comes is always the least there is.
TEST(Replies, RandomPushesAndPops) {
  std::mt19937 random(1);
  Replies replies;
  std::map<std::tuple<Instant, std::uint32_t>, ReplyKind> naive;
  std::uint32_t entry = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 5 < 3) {
      const Instant when = at(static_cast<std::int64_t>(random() % 20));
      const auto kind = static_cast<ReplyKind>(random() % 6);
      replies.push({.when = when, .gpu = core::GpuId(entry), .kind = kind});
      naive[{when, entry++}] = kind;
    } else if (!naive.empty()) {
      ASSERT_EQ(replies.top().when, std::get<0>(naive.begin()->first));
      const Reply reply = replies.pop();
      ASSERT_EQ(std::tuple(reply.when, reply.gpu.value()), naive.begin()->first);
      ASSERT_EQ(reply.kind, naive.begin()->second);
      naive.erase(naive.begin());
    }
    ASSERT_EQ(replies.empty(), naive.empty());
  }
}

TEST(Milestones, EqualInstantsAreInOrderOfSlot) {
  Milestones milestones;
  for (const std::uint32_t slot : {5U, 1U, 4U, 0U, 3U, 2U}) milestones.set(slot, at(7));
  for (std::uint32_t slot = 0; slot < 6; ++slot) {
    ASSERT_EQ(milestones.slot(), slot);
    milestones.erase(slot);
  }
  EXPECT_TRUE(milestones.empty());
}

TEST(Milestones, ErasingWhatIsNotThereChangesNothing) {
  Milestones milestones;
  milestones.erase(3);
  EXPECT_TRUE(milestones.empty());
  milestones.set(1, at(4));
  milestones.erase(0);
  milestones.erase(9);
  EXPECT_EQ(milestones.slot(), 1U);
  EXPECT_EQ(milestones.when(), at(4));
}

// Few instants, so that ties are common; few slots at first, many later.
TEST(Milestones, RandomSetsAndErasesAgainstASearch) {
  std::mt19937 random(2);
  Milestones milestones;
  std::map<Milestones::Slot, Instant> naive;
  for (int step = 0; step < 50'000; ++step) {
    const auto slot = static_cast<Milestones::Slot>(random() % (step < 10'000 ? 10 : 200));
    if (random() % 3 != 0) {
      const Instant when = at(static_cast<std::int64_t>(random() % 100));
      milestones.set(slot, when);
      naive[slot] = when;
    } else {
      milestones.erase(slot);
      naive.erase(slot);
    }
    ASSERT_EQ(milestones.empty(), naive.empty()) << "step " << step;
    if (naive.empty()) continue;
    // min_element takes the first of equals, and the map is in order of slot.
    const auto least = std::ranges::min_element(naive, {}, [](const auto& m) { return m.second; });
    ASSERT_EQ(milestones.when(), least->second) << "step " << step;
    ASSERT_EQ(milestones.slot(), least->first) << "step " << step;
  }
}

// Emptied after some were erased from the middle: this shows errors below the top.
TEST(Milestones, ComeOutInOrderAfterErasures) {
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    Milestones milestones;
    std::map<Milestones::Slot, Instant> naive;
    for (Milestones::Slot slot = 0; slot < 60; ++slot) {
      naive[slot] = at(static_cast<std::int64_t>(random() % 1000));
      milestones.set(slot, naive[slot]);
    }
    for (int i = 0; i < 20; ++i) {
      const auto slot = static_cast<Milestones::Slot>(random() % 60);
      milestones.erase(slot);
      naive.erase(slot);
    }
    Instant before{};
    for (; !naive.empty(); naive.erase(milestones.slot()), milestones.erase(milestones.slot())) {
      ASSERT_GE(milestones.when(), before) << "round " << round;
      ASSERT_EQ(milestones.when(), naive.at(milestones.slot())) << "round " << round;
      before = milestones.when();
    }
    ASSERT_TRUE(milestones.empty());
  }
}

}  // namespace
}  // namespace tangram::sim
