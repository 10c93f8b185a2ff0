// See calendar.hpp.
#include "daemon/calendar.hpp"

#include <gtest/gtest.h>

namespace tangram::daemon {
namespace {

using namespace std::chrono_literals;

constexpr api::WallTime kNoon{1'800'000'000s};

TEST(Calendar, IsBelievedWhileItRunsWithTheMachine) {
  Calendar calendar;
  EXPECT_EQ(calendar.look(kNoon, 100s), kNoon);
  EXPECT_EQ(calendar.look(kNoon + 60s, 160s), kNoon + 60s);
  EXPECT_EQ(calendar.look(kNoon + 48h, 100s + 48h), kNoon + 48h);  // suspended, or nobody asked
}

TEST(Calendar, IsBelievedAfterSmallSteps) {
  Calendar calendar;
  EXPECT_TRUE(calendar.look(kNoon, 100s));
  EXPECT_TRUE(calendar.look(kNoon + 30min, 160s));
  EXPECT_TRUE(calendar.look(kNoon - 20min, 220s));
}

TEST(Calendar, IsInDoubtForADayAfterAStep) {
  Calendar calendar;
  EXPECT_TRUE(calendar.look(kNoon, 100s));
  EXPECT_FALSE(calendar.look(kNoon + 31 * 24h, 160s));  // wrong
  EXPECT_FALSE(calendar.look(kNoon + 31 * 24h + 60s, 220s));
  EXPECT_FALSE(calendar.look(kNoon + 180s, 280s));  // right again: a step like any other
  EXPECT_FALSE(calendar.look(kNoon + 23h, 100s + 23h));
  EXPECT_EQ(calendar.look(kNoon + 25h, 100s + 25h), kNoon + 25h);
}

TEST(Calendar, DoubtsStepsBackToo) {
  Calendar calendar;
  EXPECT_TRUE(calendar.look(kNoon, 100s));
  EXPECT_FALSE(calendar.look(kNoon - 24h, 160s));
}

}  // namespace
}  // namespace tangram::daemon
