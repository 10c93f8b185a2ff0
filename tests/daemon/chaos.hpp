// Chaos: a load of submissions, ends, cancels and driver faults on a real node, in which the
// daemon, shims and jobs are killed at random moments, round after round. Each job writes down that
// it ran and how it will end, outside of Tangram's reach; at the end Tangram's books are held
// against that. One rule: the same seed draws the same wishes; what the machine makes of their
// timing it keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tangram::tests {

struct ChaosOptions {
  int rounds = 12;
  std::uint64_t seed = 1;
  bool tell = false;  // progress on standard error
};

struct ChaosResult {
  std::size_t acknowledged = 0;
  std::size_t unanswered = 0;
  std::size_t daemon_kills = 0;
  std::size_t shim_kills = 0;
  std::size_t job_kills = 0;
  std::vector<std::string> complaints;
};

[[nodiscard]] ChaosResult run_chaos(const ChaosOptions& options);

}  // namespace tangram::tests
