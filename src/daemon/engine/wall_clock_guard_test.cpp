// The wall clock is trusted unless it was set by more than an hour.
#include "daemon/engine/wall_clock_guard.hpp"

#include <gtest/gtest.h>

namespace tangram::daemon {
namespace {

using namespace std::chrono_literals;

constexpr api::WallTime kNoon{1'800'000'000s};

TEST(WallClockGuard, IsTrustedWhileItRunsWithTheMachine) {
  WallClockGuard guard;
  EXPECT_EQ(guard.check(kNoon, 100s), kNoon);
  EXPECT_EQ(guard.check(kNoon + 60s, 160s), kNoon + 60s);
  EXPECT_EQ(guard.check(kNoon + 48h, 100s + 48h), kNoon + 48h);  // suspended, or not called
}

TEST(WallClockGuard, IsTrustedAfterSmallSteps) {
  WallClockGuard guard;
  EXPECT_TRUE(guard.check(kNoon, 100s));
  EXPECT_TRUE(guard.check(kNoon + 30min, 160s));
  EXPECT_TRUE(guard.check(kNoon - 20min, 220s));
}

TEST(WallClockGuard, IsDistrustedForADayAfterAStep) {
  WallClockGuard guard;
  EXPECT_TRUE(guard.check(kNoon, 100s));
  EXPECT_FALSE(guard.check(kNoon + 31 * 24h, 160s));  // wrong
  EXPECT_FALSE(guard.check(kNoon + 31 * 24h + 60s, 220s));
  EXPECT_FALSE(guard.check(kNoon + 180s, 280s));  // set right: also a step
  EXPECT_FALSE(guard.check(kNoon + 23h, 100s + 23h));
  EXPECT_EQ(guard.check(kNoon + 25h, 100s + 25h), kNoon + 25h);
}

TEST(WallClockGuard, DistrustsStepsBackToo) {
  WallClockGuard guard;
  EXPECT_TRUE(guard.check(kNoon, 100s));
  EXPECT_FALSE(guard.check(kNoon - 24h, 160s));
}

}  // namespace
}  // namespace tangram::daemon
