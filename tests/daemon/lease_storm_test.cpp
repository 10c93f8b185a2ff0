// A small storm; the long form is the program lease_storm.
#include "lease_storm.hpp"

#include <gtest/gtest.h>

namespace tangram::tests {
namespace {

TEST(LeaseStorm, LeaksNothingAndGivesNothingTwice) {
  const Storm storm =
      run_storm({.holders = 20, .each = 10, .kill_one_in = 30, .doom_one_in = 30, .tell = false});
  for (const std::string& each : storm.complaints) ADD_FAILURE() << each;
  EXPECT_GT(storm.granted, 20U);
  EXPECT_GT(storm.killed, 0U);
  EXPECT_GT(storm.doomed, 0U);
  EXPECT_GT(storm.given_up, 0U);
}

}  // namespace
}  // namespace tangram::tests
