// Offered load: what a workload asks of a node when every task runs alone, as a share of the node's
// compute slices and of its PCIe links. It exists to fix arrivals, and the queries per task that
// the paper does not give, by a rule before any result is looked at. One rule: no simulation in
// here, only means.
#pragma once

#include <algorithm>

#include "base/error.hpp"
#include "sim/simulate.hpp"

namespace tangram::sim {

struct Offered {
  double compute = 0;
  double links = 0;  // 0 where neighbours do not matter

  [[nodiscard]] double busiest() const { return std::max(compute, links); }
};

[[nodiscard]] Result<Offered> offered_load(const PaperWorkload& paper, const Setting& setting);
[[nodiscard]] Result<Offered> offered_load(const Synthetic& synthetic, const Setting& setting);

// The queries per task with which the busier of the two is offered this load; at least 1.
[[nodiscard]] Result<double> queries_for_load(const PaperWorkload& paper, const Setting& setting,
                                              double load);

}  // namespace tangram::sim
