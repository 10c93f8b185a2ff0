// A stress test of leases: many processes take, hold and release leases; some are killed while they
// hold one or while they wait for one. A holder locks its memory slices in files, so that two
// holders of the same slice are detected independently of the daemon.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tangram::tests {

struct LeaseStressOptions {
  int processes = 20;
  int leases_each = 10;
  int kill_holding_one_in = 10;  // of granted leases: their process is killed
  int kill_waiting_one_in = 50;  // of requests: the process is killed while it waits
  bool verbose = false;          // progress on standard output
};

struct LeaseStressResult {
  std::size_t granted = 0;
  std::size_t never_granted = 0;
  std::size_t killed_holding = 0;  // processes
  std::size_t killed_waiting = 0;
  std::vector<std::string> violations;  // empty: the test passed
};

LeaseStressResult run_lease_stress(const LeaseStressOptions& options);

}  // namespace tangram::tests
