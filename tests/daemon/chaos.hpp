// Chaos test: submissions, cancels, holds, moves, leases, drains and driver faults on a real node,
// in which the daemon, shims and jobs are killed at random moments and the daemon is stopped for a
// while, round after round. Each job records in a file that it ran or every step that it made, and
// its exit code is fixed in advance; at the end the daemon's records are compared with both, and
// with the driver's. Jobs are batch jobs, among them such that can be moved by their checkpoint and
// install their handler late, and services. Meanwhile a SlotObserver checks what can be seen from
// outside. The same seed draws the same operations; their timing differs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tangram::tests {

struct ChaosOptions {
  int rounds = 12;
  std::uint64_t seed = 1;
  bool verbose = false;  // progress on standard error
};

struct ChaosResult {
  std::size_t acknowledged = 0;  // submissions
  std::size_t unanswered = 0;
  std::size_t daemon_kills = 0;
  std::size_t shim_kills = 0;
  std::size_t job_kills = 0;
  std::size_t daemon_stops = 0;         // SIGSTOP
  std::size_t moves = 0;                // requested and accepted
  std::size_t leases = 0;               // granted
  std::size_t looks = 0;                // of the SlotObserver, at /proc,
  std::size_t driver_looks = 0;         // at the driver
  std::size_t api_looks = 0;            // and at the API
  std::vector<std::string> violations;  // empty: the test passed
};

[[nodiscard]] ChaosResult run_chaos(const ChaosOptions& options);

}  // namespace tangram::tests
