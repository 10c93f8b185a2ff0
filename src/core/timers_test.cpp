// Timers against a sorted multiset: they come due in order of time, then of kind and of what they
// are about, none early, none lost, equal ones as often as they were added.
#include "core/timers.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace tangram::core {
namespace {

Instant at(std::int64_t micros) { return Instant(Duration(micros)); }

TEST(Timers, NoneAtFirst) {
  Timers timers;
  EXPECT_EQ(timers.next(), std::nullopt);
  EXPECT_EQ(timers.pop_due(Instant::max()), std::nullopt);
}

TEST(Timers, DueExactlyAtItsInstant) {
  Timers timers;
  timers.add({.when = at(10), .kind = TimerKind::kPlan, .gpu = GpuId(3)});
  EXPECT_EQ(timers.next(), at(10));
  EXPECT_EQ(timers.pop_due(at(9)), std::nullopt);
  EXPECT_EQ(timers.next(), at(10));
  const Timer expected{.when = at(10), .kind = TimerKind::kPlan, .gpu = GpuId(3)};
  EXPECT_EQ(timers.pop_due(at(10)), expected);
  EXPECT_EQ(timers.next(), std::nullopt);
}

// The order of equal instants must not depend on the order of adding: kind, job, GPU, instance.
TEST(Timers, EqualInstantsHaveOneOrder) {
  const Timer sorted[] = {
      {.when = at(5), .kind = TimerKind::kWindow},
      {.when = at(7), .kind = TimerKind::kCooldown, .job = JobId(9)},
      {.when = at(7), .kind = TimerKind::kPlan, .gpu = GpuId(1)},
      {.when = at(7), .kind = TimerKind::kPlan, .gpu = GpuId(2)},
      {.when = at(7), .kind = TimerKind::kPlan, .job = JobId(1)},
      {.when = at(7), .kind = TimerKind::kQuarantine, .instance = InstanceId(4)},
      {.when = at(7), .kind = TimerKind::kQuarantine, .instance = InstanceId(5)},
      {.when = at(7), .kind = TimerKind::kWindow},
  };
  std::vector<Timer> shuffled(std::begin(sorted), std::end(sorted));
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::ranges::shuffle(shuffled, random);
    Timers timers;
    for (const Timer& timer : shuffled) timers.add(timer);
    for (const Timer& timer : sorted) ASSERT_EQ(timers.pop_due(at(7)), timer);
    ASSERT_EQ(timers.next(), std::nullopt);
  }
}

TEST(Timers, RandomAddsAndPops) {
  std::mt19937 random(2);
  Timers timers;
  std::multiset<Timer> oracle;
  std::int64_t now = 0;
  for (int step = 0; step < 50'000; ++step) {
    if (random() % 2 == 0) {
      const Timer timer{.when = at(now + static_cast<std::int64_t>(random() % 50)),
                        .kind = static_cast<TimerKind>(random() % 5),
                        .job = JobId(random() % 3)};
      timers.add(timer);
      oracle.insert(timer);
    } else {
      now += static_cast<std::int64_t>(random() % 4);
      const auto due = timers.pop_due(at(now));
      const bool any = !oracle.empty() && oracle.begin()->when <= at(now);
      ASSERT_EQ(due.has_value(), any) << "step " << step;
      if (any) {
        ASSERT_EQ(*due, *oracle.begin()) << "step " << step;
        oracle.erase(oracle.begin());
      }
    }
    ASSERT_EQ(timers.next(), oracle.empty() ? std::nullopt : std::optional(oracle.begin()->when));
  }
}

}  // namespace
}  // namespace tangram::core
