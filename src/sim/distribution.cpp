// See distribution.hpp.
#include "sim/distribution.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"

namespace tangram::sim {

void Distribution::add(double value) {
  CHECK(value >= 0);
  ++count_;
  sum_ += value;
  largest_ = std::max(largest_, value);
  const std::size_t i = value < kSmallest ? 0 : bucket(value);
  if (i >= buckets_.size()) buckets_.resize(i + 1);
  ++buckets_[i];
}

double Distribution::quantile(double part) const {
  if (count_ == 0) return 0;
  const auto wanted = static_cast<std::uint64_t>(std::ceil(part * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen < wanted || seen == 0) continue;
    if (i == 0) return 0;
    const std::uint64_t base = (std::bit_cast<std::uint64_t>(kSmallest) >> kDropped) + i;
    return std::min(largest_, std::bit_cast<double>(base << kDropped));  // its upper edge
  }
  return largest_;
}

}  // namespace tangram::sim
