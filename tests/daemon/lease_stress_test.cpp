// The short form of the lease stress test; the long one is the program lease_stress.
#include "lease_stress.hpp"

#include <gtest/gtest.h>

namespace tangram::tests {
namespace {

TEST(LeaseStress, LeaksNothingAndGrantsNothingTwice) {
  const LeaseStressResult result = run_lease_stress({.processes = 20,
                                                     .leases_each = 10,
                                                     .kill_holding_one_in = 30,
                                                     .kill_waiting_one_in = 30,
                                                     .verbose = false});
  for (const std::string& each : result.violations) ADD_FAILURE() << each;
  EXPECT_GT(result.granted, 20U);
  EXPECT_GT(result.killed_holding, 0U);
  EXPECT_GT(result.killed_waiting, 0U);
  EXPECT_GT(result.never_granted, 0U);
}

}  // namespace
}  // namespace tangram::tests
