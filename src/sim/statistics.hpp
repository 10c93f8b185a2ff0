// Statistics over independent runs (seeds): a mean with its 95 % confidence interval, and the
// reduction of one setting against another on the same seeds.
#pragma once

#include <span>

namespace tangram::sim {

struct Estimate {
  double mean = 0;
  double ci95 = 0;  // half width; 0 (unknown) for a single run
};

// The mean with Student's t interval.
[[nodiscard]] Estimate estimate(std::span<const double> runs);

// 1 − mean(ours) / mean(base), paired by seed. The interval is by jackknife, because a ratio of
// means is defined even where single runs are near zero. Both are 0 if base is 0.
[[nodiscard]] Estimate reduction(std::span<const double> base, std::span<const double> ours);

}  // namespace tangram::sim
