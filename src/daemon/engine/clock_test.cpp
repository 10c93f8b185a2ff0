// The scheduler's clock never goes back, even if the wall clock does.
#include "daemon/engine/clock.hpp"

#include <gtest/gtest.h>

namespace tangram::daemon {
namespace {

TEST(Clock, ContinuesFromWhereAnEarlierDaemonStoppedEvenIfTheWallClockWentBack) {
  const Instant future = Clock(Instant()).now() + std::chrono::hours(24 * 365);
  const Clock clock(future);
  EXPECT_GE(clock.now(), future);
  EXPECT_LT(clock.now(), future + std::chrono::minutes(1));
}

TEST(Clock, StartsAtLocalTimeOtherwise) {
  const Clock clock{Instant()};
  const auto difference = clock.now().time_since_epoch() - Clock::wall().time_since_epoch();
  EXPECT_LT(std::chrono::abs(difference), std::chrono::hours(15));  // an offset of a time zone
  const Instant first = clock.now();
  EXPECT_GE(clock.now(), first);
}

}  // namespace
}  // namespace tangram::daemon
