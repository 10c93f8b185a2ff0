// Wait time: dynamic partitioning against the best of all static arrangements of the same instances
// (§V-C). Both sides place by conditional load balancing without moves, so that partitioning is the
// only difference; the arrangement is the one with the smallest wait.
#include <fmt/format.h>

#include "lab/kinds.hpp"
#include "lab/layout_text.hpp"

namespace tangram::lab {
namespace {

// A wait below this share of the makespan is near zero: a percentage of it is meaningless.
constexpr double kNearZero = 0.05;

}  // namespace

Result<Findings> run_wait(Study& study, const Experiment& e) {
  Findings found;
  ResultTable table{.caption = "Mean wait in seconds, with 95 % confidence interval",
                    .columns = {"workload", "best static", "dynamic", "reduction"},
                    .rows = {}};
  std::string csv = "workload,static,static_ci95,dynamic,dynamic_ci95\n";
  for (const std::string& name : e.workloads) {
    const auto node = study.node(e);
    if (!node) return std::unexpected(node.error());
    const auto workload = Study::workload(e, name, *node);
    if (!workload) return std::unexpected(workload.error());
    const auto fixed = study.best_static(e, *node, *workload, &Run::wait, "paper");
    if (!fixed) return std::unexpected(fixed.error());
    sim::Setting setting = *node;
    setting.tuning.migration = "off";
    const auto dynamic = study.run(e, {setting}, *workload);
    if (!dynamic) return std::unexpected(dynamic.error());
    const auto before = column(fixed->runs, &Run::wait);
    const auto after = column(dynamic->front(), &Run::wait);
    const sim::Estimate old_wait = sim::estimate(before);
    const sim::Estimate new_wait = sim::estimate(after);
    const double makespan = sim::estimate(column(fixed->runs, &Run::makespan)).mean;
    const bool meaningful = old_wait.mean >= kNearZero * makespan;
    const sim::Estimate cut = sim::reduction(before, after);
    const std::string note = fmt::format("{:.1f} s → {:.1f} s", old_wait.mean, new_wait.mean);
    table.rows.push_back({name, with_interval(old_wait, 1), with_interval(new_wait, 1),
                          meaningful ? percent(cut) : "near zero: " + note});
    csv += fmt::format("{},{:.4f},{:.4f},{:.4f},{:.4f}\n", name, old_wait.mean, old_wait.ci95,
                       new_wait.mean, new_wait.ci95);
    found.measures.push_back({.name = "wait_reduction",
                              .on = name,
                              .value = cut,
                              .meaningful = meaningful,
                              .note = meaningful ? std::string() : note});
    boost::json::object numbers{{"static", to_json(old_wait)}, {"dynamic", to_json(new_wait)}};
    if (meaningful) numbers["reduction"] = to_json(cut);
    found.numbers[name] = std::move(numbers);
    found.remarks.push_back(fmt::format("{}: the static side is the best of {} arrangements: {}.",
                                        name, fixed->arrangements, layout_text(fixed->setting)));
  }
  found.tables.push_back(std::move(table));
  found.series.push_back({"wait.csv", std::move(csv)});
  return found;
}

}  // namespace tangram::lab
