// Which limit of several applies to a user.
#include "daemon/config/user_limits.hpp"

#include <gtest/gtest.h>

namespace tangram::daemon {
namespace {

using std::chrono::hours;

UserLimits configured() {
  UserLimits limits{.slices = 4, .jobs = 10, .held_jobs = 5, .max_time = hours(1)};
  limits.users["ann"] = {.slices = 7, .max_time = hours(48)};
  limits.groups["staff"] = {.slices = 20, .each = {.slices = 6, .jobs = 30}};
  limits.groups["lab"] = {.each = {.slices = 5, .held_jobs = 0}};
  return limits;
}

TEST(UserLimits, AreThoseOfEverybodyByDefault) {
  const UserLimits own = limits_of(configured(), "bob", {"users"});
  EXPECT_EQ(own, (UserLimits{.slices = 4, .jobs = 10, .held_jobs = 5, .max_time = hours(1)}));
}

TEST(UserLimits, OfGroupsReplaceThemAndTheLargestCounts) {
  const UserLimits own = limits_of(configured(), "bob", {"lab", "staff"});
  EXPECT_EQ(own, (UserLimits{.slices = 6, .jobs = 30, .held_jobs = 0, .max_time = hours(1)}));
}

TEST(UserLimits, OfTheUserHavePriority) {
  const UserLimits own = limits_of(configured(), "ann", {"lab", "staff"});
  EXPECT_EQ(own, (UserLimits{.slices = 7, .jobs = 30, .held_jobs = 0, .max_time = hours(48)}));
}

TEST(UserLimits, TheHighestPriorityCounts) {
  UserLimits limits = configured();
  limits.max_priority = 5;
  limits.groups["staff"].each.max_priority = 0;
  limits.groups["lab"].each.max_priority = -3;
  EXPECT_EQ(limits_of(limits, "bob", {"staff", "lab"}).max_priority, 0);
  EXPECT_EQ(limits_of(limits, "bob", {"lab"}).max_priority, -3);
  EXPECT_EQ(limits_of(limits, "bob", {}).max_priority, 5);
}

TEST(UserLimits, UnlimitedIsLargerThanAnyNumber) {
  UserLimits limits = configured();
  limits.groups["interns"].each.slices = 0;
  EXPECT_EQ(limits_of(limits, "bob", {"interns", "staff"}).slices, 0U);
  EXPECT_EQ(limits_of(limits, "bob", {"staff", "interns"}).slices, 0U);
}

}  // namespace
}  // namespace tangram::daemon
