// Offered load: what a workload demands of a node when every task runs alone, as a share of its
// compute slices and PCIe links. Used to fix the arrival rate, and the queries per task that the
// paper does not give, before looking at results. Means only, no simulation.
#pragma once

#include <algorithm>

#include "base/error.hpp"
#include "sim/simulate.hpp"

namespace tangram::sim {

struct Offered {
  double compute = 0;
  double links = 0;  // 0 without contention

  [[nodiscard]] double busiest() const { return std::max(compute, links); }
};

[[nodiscard]] Result<Offered> offered_load(const PaperWorkload& paper, const Setting& setting);
[[nodiscard]] Result<Offered> offered_load(const Synthetic& synthetic, const Setting& setting);

// The queries per task with which the busier resource is offered this load; at least 1.
[[nodiscard]] Result<double> queries_for_load(const PaperWorkload& paper, const Setting& setting,
                                              double load);

}  // namespace tangram::sim
