// Execution time with and without moves (§V-D), otherwise equal: dynamic partitioning, conditional
// load balancing.
#include <fmt/format.h>

#include "lab/kinds.hpp"

namespace tangram::lab {

Result<Findings> run_execution(Study& study, const Experiment& e) {
  Findings found;
  ResultTable table{.caption =
                        "Mean execution time in seconds, with 95 % confidence interval; moves "
                        "done per run",
                    .columns = {"workload", "without", "with moves", "reduction", "moves",
                                "reduction if a query could move midway"},
                    .rows = {}};
  std::string csv = "workload,off,off_ci95,both,both_ci95\n";
  for (const std::string& name : e.workloads) {
    const auto node = study.node(e);
    if (!node) return std::unexpected(node.error());
    const auto workload = Study::workload(e, name, *node);
    if (!workload) return std::unexpected(workload.error());
    sim::Setting off = *node;
    off.tuning.migration = "off";
    sim::Setting midway = *node;
    midway.knobs.drain_query = 0;
    const auto runs = study.run(e, {off, *node, midway}, *workload);
    if (!runs) return std::unexpected(runs.error());
    const auto before = column((*runs)[0], &Run::execution);
    const auto after = column((*runs)[1], &Run::execution);
    const sim::Estimate cut = sim::reduction(before, after);
    const sim::Estimate at_once = sim::reduction(before, column((*runs)[2], &Run::execution));
    const sim::Estimate old_time = sim::estimate(before);
    const sim::Estimate new_time = sim::estimate(after);
    const sim::Estimate moves = sim::estimate(column((*runs)[1], &Run::moves));
    table.rows.push_back({name, with_interval(old_time, 1), with_interval(new_time, 1),
                          percent(cut), with_interval(moves, 1), percent(at_once)});
    csv += fmt::format("{},{:.4f},{:.4f},{:.4f},{:.4f}\n", name, old_time.mean, old_time.ci95,
                       new_time.mean, new_time.ci95);
    found.measures.push_back({.name = "execution_reduction", .on = name, .value = cut, .note = {}});
    found.numbers[name] = boost::json::object{{"off", to_json(old_time)},
                                              {"both", to_json(new_time)},
                                              {"reduction", to_json(cut)},
                                              {"moves", to_json(moves)},
                                              {"reduction_midway", to_json(at_once)}};
  }
  found.tables.push_back(std::move(table));
  found.series.push_back({"execution.csv", std::move(csv)});
  return found;
}

}  // namespace tangram::lab
