// The ablation (§V-E); see ablation.hpp.
#include "lab/ablation.hpp"

#include <fmt/format.h>

#include "lab/kinds.hpp"
#include "lab/layout_text.hpp"

namespace tangram::lab {

std::vector<sim::Setting> ablation_settings(const sim::Setting& node, const sim::Setting& base) {
  sim::Setting balanced = base;
  balanced.tuning.placement = "paper";
  sim::Setting dynamic = node;
  dynamic.tuning.migration = "off";
  sim::Setting full = node;
  return {base, balanced, dynamic, full};
}

Result<Ablation> ablate(Study& study, const Experiment& e, std::string_view workload_name) {
  const auto node = study.node(e);
  if (!node) return std::unexpected(node.error());
  const auto workload = Study::workload(e, workload_name, *node);
  if (!workload) return std::unexpected(workload.error());
  const auto best = study.best_static(e, *node, *workload, &Run::makespan, "static-first-fit");
  if (!best) return std::unexpected(best.error());
  auto runs = study.run(e, ablation_settings(*node, best->setting), *workload);
  if (!runs) return std::unexpected(runs.error());
  return Ablation{*workload, best->setting, best->arrangements, std::move(*runs)};
}

namespace {

namespace json = boost::json;

json::object setting_json(const Runs& runs) {
  const sim::Estimate wait = sim::estimate(column(runs, &Run::wait));
  const sim::Estimate execution = sim::estimate(column(runs, &Run::execution));
  const sim::Estimate makespan = sim::estimate(column(runs, &Run::makespan));
  return {{"wait", wait.mean},           {"wait_ci95", wait.ci95},
          {"execution", execution.mean}, {"execution_ci95", execution.ci95},
          {"makespan", makespan.mean},   {"makespan_ci95", makespan.ci95}};
}

}  // namespace

Result<Findings> run_ablation(Study& study, const Experiment& e) {
  Findings found;
  ResultTable table{
      .caption =
          "Seconds per task, mean over seeds with 95 % confidence interval; "
          "reduction of makespan against the baseline, paired by seed",
      .columns = {"workload", "setting", "wait", "execution", "makespan", "reduction"},
      .rows = {}};
  std::string csv = "workload,setting,wait,execution,makespan,normalized,ci95\n";
  for (const std::string& name : e.workloads) {
    const auto ablation = ablate(study, e, name);
    if (!ablation) return std::unexpected(ablation.error());
    json::object by_setting;
    const std::vector<double> base = column(ablation->runs[0], &Run::makespan);
    for (std::size_t i = 0; i < kAblationSettings; ++i) {
      const Runs& runs = ablation->runs[i];
      const sim::Estimate cut = sim::reduction(base, column(runs, &Run::makespan));
      json::object object = setting_json(runs);
      object["reduction"] = cut.mean;
      object["reduction_ci95"] = cut.ci95;
      const auto show = [&](double Run::* which) {
        return with_interval(sim::estimate(column(runs, which)), 1);
      };
      table.rows.push_back({i == 0 ? name : "", kAblationTitles[i], show(&Run::wait),
                            show(&Run::execution), show(&Run::makespan),
                            i == 0 ? "" : percent(cut)});
      csv += fmt::format("{},{},{:.3f},{:.3f},{:.3f},{:.4f},{:.4f}\n", name, kAblationTitles[i],
                         object["wait"].as_double(), object["execution"].as_double(),
                         object["makespan"].as_double(), 1 - cut.mean, cut.ci95);
      by_setting[kAblationNames[i]] = std::move(object);
      if (i > 0) {
        found.measures.push_back(
            {.name = "step_reduction",
             .on = fmt::format("{} {}", name, kAblationSteps[i]),
             .value = sim::reduction(column(ablation->runs[i - 1], &Run::makespan),
                                     column(runs, &Run::makespan)),
             .note = {}});
      }
      if (i + 1 == kAblationSettings) {
        found.measures.push_back(
            {.name = "makespan_reduction", .on = name, .value = cut, .note = {}});
      }
    }
    found.remarks.push_back(fmt::format("{}: the baseline is the best of {} arrangements: {}.",
                                        name, ablation->arrangements, layout_text(ablation->base)));
    found.numbers[name] = std::move(by_setting);
  }
  found.tables.push_back(std::move(table));
  found.series.push_back({"ablation.csv", std::move(csv)});
  return found;
}

}  // namespace tangram::lab
