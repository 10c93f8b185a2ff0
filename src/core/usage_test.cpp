// Usage of users: it accrues with slices and time, decays by its half-life, and does not depend on
// when it was asked before.
#include "core/usage.hpp"

#include <chrono>

#include <gtest/gtest.h>

namespace tangram::core {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr std::uint64_t kHour = 3'600'000;  // one slice for an hour
Instant at(Duration since) { return Instant(since); }

TEST(Usage, AccruesWithSlicesAndTime) {
  Usage usage;
  usage.add(7, 4, at(hours(1)), {});
  EXPECT_EQ(usage.at(7, at(hours(1)), {}), 0U);
  EXPECT_EQ(usage.at(7, at(hours(3)), {}), 8 * kHour);
  usage.remove(7, 3, at(hours(3)), {});
  EXPECT_EQ(usage.at(7, at(hours(4)), {}), 9 * kHour);
  EXPECT_EQ(usage.at(8, at(hours(4)), {}), 0U);
}

TEST(Usage, HalfIsLeftAfterAHalfLife) {
  Usage usage;
  usage.add(7, 8, at({}), hours(24));
  usage.remove(7, 8, at(minutes(60)), hours(24));
  const auto full = static_cast<double>(usage.at(7, at(minutes(60)), hours(24)));
  EXPECT_NEAR(static_cast<double>(usage.at(7, at(minutes(60) + hours(24)), hours(24))), full / 2,
              full / 1'000);
  EXPECT_NEAR(static_cast<double>(usage.at(7, at(minutes(60) + hours(240)), hours(24))),
              full / 1'024, full / 50'000);
  EXPECT_EQ(usage.at(7, at(hours(24 * 400)), hours(24)), 0U);
}

TEST(Usage, DoesNotDependOnWhenItWasSettled) {
  Usage once;
  Usage often;
  once.add(1, 3, at({}), hours(1));
  often.add(1, 3, at({}), hours(1));
  for (int minute = 1; minute < 600; minute += 7) often.settle(at(minutes(minute)), hours(1));
  EXPECT_EQ(once.at(1, at(minutes(601)), hours(1)), often.at(1, at(minutes(601)), hours(1)));
}

TEST(Usage, AUserWithoutAnyIsForgotten) {
  Usage usage;
  usage.add(7, 1, at({}), hours(1));
  usage.remove(7, 1, at({}), hours(1));
  EXPECT_TRUE(usage.users().empty());
}

}  // namespace
}  // namespace tangram::core
