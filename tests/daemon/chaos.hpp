// Chaos test: submissions, cancels and driver faults on a real node, in which the daemon, shims and
// jobs are killed at random moments, round after round. Each job records in a file that it ran, and
// its exit code is fixed in advance; at the end the daemon's records are compared with both. The
// same seed draws the same operations; their timing differs.
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
  std::vector<std::string> violations;  // empty: the test passed
};

[[nodiscard]] ChaosResult run_chaos(const ChaosOptions& options);

}  // namespace tangram::tests
