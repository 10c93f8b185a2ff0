// Statistics over independent runs (seeds): a mean with its 95 % confidence interval, and by how
// much one setting is below another on the same seeds. One rule: an interval comes with every mean.
#pragma once

#include <span>

namespace tangram::sim {

struct Estimate {
  double mean = 0;
  double ci95 = 0;  // half width; 0 for a single run, where nothing is known of it
};

// Student's t over the runs.
[[nodiscard]] Estimate estimate(std::span<const double> runs);

// 1 − mean(ours) / mean(base), paired by seed; the interval by jackknife, because a ratio of means
// stands even where single runs are near zero. Both are 0 where base is 0.
[[nodiscard]] Estimate reduction(std::span<const double> base, std::span<const double> ours);

}  // namespace tangram::sim
