// The long form of the lease stress test: lease_stress [PROCESSES [LEASES_EACH]].
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

#include "lease_stress.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  tangram::tests::LeaseStressOptions options{.processes = 50,
                                             .leases_each = 36,
                                             .kill_holding_one_in = 100,
                                             .kill_waiting_one_in = 100,
                                             .verbose = true};
  if (argc > 1) options.processes = std::atoi(argv[1]);
  if (argc > 2) options.leases_each = std::atoi(argv[2]);
  const auto result = tangram::tests::run_lease_stress(options);
  std::printf("%zu leases granted, %zu never granted, %zu processes killed, %zu violations\n",
              result.granted, result.never_granted, result.killed_holding + result.killed_waiting,
              result.violations.size());
  for (const std::string& each : result.violations) std::printf("  %s\n", each.c_str());
  return result.violations.empty() ? 0 : 1;
}
