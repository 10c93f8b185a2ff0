// Restraint: when the daily window opens, checked at every quarter of an hour against a search
// minute by minute, over midnight and before the clock's origin; back-offs; which jobs may be
// moved.
#include "core/restraint.hpp"

#include <chrono>

#include <gtest/gtest.h>

namespace tangram::core {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::int32_t kHour = 3600;
Instant at(Duration since_origin) { return Instant(since_origin); }

TEST(WindowOpens, FromEqualToIsTheWholeDay) {
  for (const std::int32_t s : {0, 5 * kHour, 24 * kHour - 1}) {
    for (const Duration now : {Duration(0), Duration(hours(5)), Duration(hours(-7))}) {
      EXPECT_EQ(window_opens({.from_s = s, .to_s = s}, at(now)), at(now));
    }
  }
}

TEST(WindowOpens, BordersToTheMicrosecond) {
  const DayWindow window{.from_s = 9 * kHour, .to_s = 17 * kHour};
  const microseconds one(1);
  EXPECT_EQ(window_opens(window, at(hours(9))), at(hours(9)));
  EXPECT_EQ(window_opens(window, at(hours(9) - one)), at(hours(9)));
  EXPECT_EQ(window_opens(window, at(hours(17) - one)), at(hours(17) - one));
  // The end is outside: the next opening is tomorrow's.
  EXPECT_EQ(window_opens(window, at(hours(17))), at(hours(24 + 9)));
  EXPECT_EQ(window_opens(window, at(hours(72 + 20))), at(hours(96 + 9)));
  EXPECT_EQ(window_opens(window, at(hours(-24 + 20))), at(hours(9)));
}

TEST(WindowOpens, OverMidnight) {
  const DayWindow window{.from_s = 22 * kHour, .to_s = 6 * kHour};
  const microseconds one(1);
  EXPECT_EQ(window_opens(window, at(hours(23))), at(hours(23)));
  EXPECT_EQ(window_opens(window, at(hours(24))), at(hours(24)));
  EXPECT_EQ(window_opens(window, at(hours(0))), at(hours(0)));
  EXPECT_EQ(window_opens(window, at(hours(6) - one)), at(hours(6) - one));
  EXPECT_EQ(window_opens(window, at(hours(6))), at(hours(22)));
  EXPECT_EQ(window_opens(window, at(hours(22) - one)), at(hours(22)));
  EXPECT_EQ(window_opens(window, at(hours(-1))), at(hours(-1)));
  EXPECT_EQ(window_opens(window, at(hours(-10))), at(hours(-2)));
}

// By the definition: the first minute from now on that is inside.
TEST(WindowOpens, AgreesWithASearchMinuteByMinute) {
  constexpr std::int32_t kDay = 24 * kHour;
  for (std::int32_t from = 0; from < kDay; from += 4500) {
    for (std::int32_t to = 0; to < kDay; to += 4500) {
      const auto inside = [&](int minute) {
        const int s = ((minute * 60) % kDay + kDay) % kDay;
        if (from == to) return true;
        return from < to ? from <= s && s < to : from <= s || s < to;
      };
      for (int now = -2000; now < 3000; now += 15) {
        int opens = now;
        while (!inside(opens)) ++opens;
        ASSERT_EQ(window_opens({.from_s = from, .to_s = to}, at(minutes(now))), at(minutes(opens)))
            << from << " to " << to << " at minute " << now;
      }
    }
  }
}

TEST(BackedOff, OnlyThatPlaceAndOnlyUntilThen) {
  Job job;
  job.back_offs.push_back({.gpu = GpuId(1), .start = 4, .failures = 1, .until = at(seconds(10))});
  job.back_offs.push_back({.gpu = GpuId(2), .start = 0, .failures = 2, .until = at(seconds(20))});
  EXPECT_EQ(backed_off(job, GpuId(1), 4, at(seconds(9))), job.back_offs.data());
  EXPECT_EQ(backed_off(job, GpuId(1), 4, at(seconds(10))), nullptr);
  EXPECT_EQ(backed_off(job, GpuId(1), 0, at(seconds(9))), nullptr);
  EXPECT_EQ(backed_off(job, GpuId(0), 4, at(seconds(9))), nullptr);
  EXPECT_EQ(backed_off(job, GpuId(2), 0, at(seconds(19))), &job.back_offs[1]);
}

TEST(Restrained, KeepsTheEarliestRetry) {
  Restrained restrained;
  EXPECT_FALSE(restrained.answer().restrained);
  restrained.until(Instant::max());
  EXPECT_TRUE(restrained.answer().restrained);
  EXPECT_EQ(restrained.answer().retry, Instant::max());
  restrained.until(at(seconds(5)));
  restrained.until(at(seconds(8)));
  EXPECT_EQ(restrained.answer().retry, at(seconds(5)));
  EXPECT_FALSE(restrained.answer().move.has_value());
}

TEST(CouldMove, OnlyARunningReadyJobThatIsAllowedTo) {
  Job job;
  job.phase = JobPhase::kRunning;
  job.main.ready = true;
  EXPECT_TRUE(could_move(job));
  const auto changed = [&](auto change) {
    Job other = job;
    change(other);
    return could_move(other);
  };
  EXPECT_FALSE(changed([](Job& j) { j.allowed_to_move = false; }));
  EXPECT_FALSE(changed([](Job& j) { j.phase = JobPhase::kStarting; }));
  EXPECT_FALSE(changed([](Job& j) { j.phase = JobPhase::kStopping; }));
  EXPECT_FALSE(changed([](Job& j) { j.main.ready = false; }));
  EXPECT_FALSE(changed([](Job& j) { j.main.stopping = true; }));
  EXPECT_FALSE(changed([](Job& j) { j.move = MovePhase::kStarting; }));
  Node node;
  node.set_now(at(seconds(10)));
  EXPECT_FALSE(cooling(node, job));
  job.cooldown_until = at(seconds(10));
  EXPECT_FALSE(cooling(node, job));
  job.cooldown_until = at(seconds(11));
  EXPECT_TRUE(cooling(node, job));
  job.allowed_to_move = false;
  EXPECT_FALSE(cooling(node, job));
}

}  // namespace
}  // namespace tangram::core
