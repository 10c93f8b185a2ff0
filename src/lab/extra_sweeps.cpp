// Tangram's own experiments on the paper's node: the threshold from 0 to 1, and the ablation with
// each assumption of the simulation changed.
#include <fmt/format.h>

#include "lab/ablation.hpp"
#include "lab/kinds.hpp"

namespace tangram::lab {

Result<Findings> run_threshold(Study& study, const Experiment& e) {
  constexpr int kSteps = 10;
  Findings found;
  ResultTable table{.caption = "Mean makespan of the full method in seconds, by threshold",
                    .columns = {"threshold"},
                    .rows = std::vector<std::vector<std::string>>(kSteps + 1)};
  std::vector<std::string> lines(kSteps + 1);
  std::string head = "threshold";
  for (int step = 0; step <= kSteps; ++step) {
    const std::string text = fmt::format("{:.1f}", static_cast<double>(step) / kSteps);
    table.rows[static_cast<std::size_t>(step)].push_back(text);
    lines[static_cast<std::size_t>(step)] = text;
  }
  for (const std::string& name : e.workloads) {
    const auto node = study.node(e);
    if (!node) return std::unexpected(node.error());
    const auto workload = Study::workload(e, name, *node);
    if (!workload) return std::unexpected(workload.error());
    std::vector<sim::Setting> settings;
    for (int step = 0; step <= kSteps; ++step) {
      settings.push_back(*node);
      settings.back().tuning.threshold =
          core::Threshold::from_billionths(core::Threshold::kOne / kSteps * step);
    }
    const auto runs = study.run(e, settings, *workload);
    if (!runs) return std::unexpected(runs.error());
    table.columns.push_back(name);
    head += fmt::format(",{},{} ci95", name, name);
    boost::json::array points;
    for (std::size_t i = 0; i <= kSteps; ++i) {
      const sim::Estimate makespan = sim::estimate(column((*runs)[i], &Run::makespan));
      table.rows[i].push_back(with_interval(makespan, 1));
      lines[i] += fmt::format(",{:.3f},{:.3f}", makespan.mean, makespan.ci95);
      points.push_back(to_json(makespan));
    }
    found.numbers[name] = std::move(points);
  }
  std::string csv = head + "\n";
  for (const std::string& line : lines) csv += line + "\n";
  found.tables.push_back(std::move(table));
  found.series.push_back({"threshold.csv", std::move(csv)});
  return found;
}

namespace {

// Runs the ablation of one workload with one knob changed: the arrangement is that of the default
// knobs, the queries per task are recomputed so that the load stays the same.
Result<std::vector<Runs>> run_with_knob(Study& study, const Experiment& e, const std::string& knob,
                                        const Ablation& defaults) {
  auto node = study.node(e);
  if (!node) return std::unexpected(node.error());
  if (!knob.empty()) {
    const auto set = sim::set_knob(node->knobs, knob);
    if (!set) return std::unexpected(set.error());
  }
  const auto workload = Study::workload(e, defaults.workload.name, *node);
  if (!workload) return std::unexpected(workload.error());
  sim::Setting base = defaults.base;
  base.knobs = node->knobs;
  return study.run(e, ablation_settings(*node, base), *workload);
}

}  // namespace

Result<Findings> run_sensitivity(Study& study, const Experiment& e) {
  Findings found;
  ResultTable table{.caption =
                        "Reduction of makespan by the full method against the baseline, with "
                        "one assumption changed",
                    .columns = {"assumption"},
                    .rows = {}};
  ResultTable moves{.caption =
                        "Reduction of execution time by migration alone, with one assumption "
                        "changed",
                    .columns = {"assumption"},
                    .rows = {}};
  std::vector<Ablation> defaults;
  for (const std::string& name : e.workloads) {
    auto ablation = ablate(study, e, name);
    if (!ablation) return std::unexpected(ablation.error());
    defaults.push_back(std::move(*ablation));
    table.columns.push_back(name);
    moves.columns.push_back(name);
  }
  std::string csv = "assumption";
  for (const std::string& name : e.workloads) csv += fmt::format(",{},{} ci95", name, name);
  csv += '\n';
  std::vector<std::string> knobs{""};
  knobs.insert(knobs.end(), e.tries.begin(), e.tries.end());
  for (const std::string& knob : knobs) {
    const std::string label = knob.empty() ? "as assumed" : knob;
    table.rows.push_back({label});
    moves.rows.push_back({label});
    csv += label;
    boost::json::object numbers;
    for (const Ablation& ablation : defaults) {
      const auto runs = run_with_knob(study, e, knob, ablation);
      if (!runs) return std::unexpected(runs.error());
      const auto cut =
          sim::reduction(column((*runs)[0], &Run::makespan), column((*runs)[3], &Run::makespan));
      const auto by_moves =
          sim::reduction(column((*runs)[2], &Run::execution), column((*runs)[3], &Run::execution));
      table.rows.back().push_back(percent(cut));
      moves.rows.back().push_back(percent(by_moves));
      csv += fmt::format(",{:.4f},{:.4f}", cut.mean, cut.ci95);
      numbers[ablation.workload.name] = boost::json::object{
          {"makespan_reduction", to_json(cut)}, {"execution_reduction", to_json(by_moves)}};
    }
    csv += '\n';
    found.numbers[label] = std::move(numbers);
  }
  found.tables.push_back(std::move(table));
  found.tables.push_back(std::move(moves));
  found.series.push_back({"sensitivity.csv", std::move(csv)});
  return found;
}

}  // namespace tangram::lab
