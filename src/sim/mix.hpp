// Mix: draws that generated workloads and query traces share: a profile in proportion to the counts
// of a mix, and the number of queries of a task. Each call takes exactly one random number, so that
// streams stay in step.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/random.hpp"
#include "sim/workload.hpp"

namespace tangram::sim {

// Draws an index in proportion to the counts.
class Mix {
 public:
  explicit Mix(const std::vector<Share>& shares) {
    for (const Share& share : shares) up_to_.push_back(all_ += share.count);
  }
  std::uint8_t draw(Random& random) const {
    const auto at = static_cast<int>(random.below(static_cast<std::uint64_t>(all_)));
    const auto found = std::ranges::upper_bound(up_to_, at);
    return static_cast<std::uint8_t>(found - up_to_.begin());
  }

 private:
  std::vector<int> up_to_;
  int all_ = 0;
};

inline std::vector<std::string> names_of(const std::vector<Share>& mix) {
  std::vector<std::string> names;
  for (const Share& share : mix) names.push_back(share.profile);
  return names;
}

// Draws the integer below or above the mean, at least 1.
inline int draw_queries(double mean, Random& random) {
  const double below = std::floor(mean);
  const double more = random.uniform() < mean - below ? 1 : 0;
  return std::max(1, static_cast<int>(below + more));
}

}  // namespace tangram::sim
