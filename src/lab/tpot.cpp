// Time per output token of each language model against the number of concurrent tasks (§V-B): all
// tasks arrive in the first second, less than 75 % of the node's compute slices are used, and the
// threshold is the average load when all of them run.
#include <algorithm>

#include <fmt/format.h>

#include "lab/kinds.hpp"
#include "policies/registry.hpp"
#include "sim/llm.hpp"

namespace tangram::lab {
namespace {

constexpr const char* kPolicies[] = {"paper", "first-fit", "owp-style", "elasticbatch-style"};
constexpr double kMaxUsed = 0.75;

struct Sizes {
  double mean = 0;  // compute slices of the tasks of one model
  int largest = 0;
};

Sizes sizes_of(const sim::PaperWorkload& w, const mig::Model& gpu) {
  Sizes sizes;
  double all = 0;
  for (std::size_t i = 0; i < w.mix.size(); ++i) {
    const bool runs = sim::paper_model(sim::is_small(w.mix, i), false) == w.only_model ||
                      sim::paper_model(sim::is_small(w.mix, i), true) == w.only_model;
    const auto profile = gpu.find_profile(w.mix[i].profile);
    if (!runs || !profile) continue;
    const int slices = gpu.profile(*profile).compute_slices;
    sizes.mean += w.mix[i].count * slices;
    sizes.largest = std::max(sizes.largest, slices);
    all += w.mix[i].count;
  }
  sizes.mean /= std::max(all, 1.0);
  return sizes;
}

std::vector<sim::Setting> settings_of(const sim::Setting& node, double load) {
  std::vector<sim::Setting> settings;
  for (const char* policy : kPolicies) {
    sim::Setting setting = node;
    setting.tuning.placement = policy;
    setting.tuning.migration = "off";
    setting.tuning.queue = (*policies::find_placement(policy))->queue;
    setting.tuning.threshold = core::Threshold::from_billionths(
        static_cast<std::int64_t>(std::min(1.0, load) * core::Threshold::kOne));
    settings.push_back(std::move(setting));
  }
  return settings;
}

std::vector<double> tpots(const Runs& runs, std::size_t model) {
  std::vector<double> values;
  for (const Run& run : runs) values.push_back(run.tpot[model] * 1e3);
  return values;
}

using ByPolicy = std::vector<std::vector<double>>;  // by policy, then by seed

struct Curve {
  std::string csv;
  boost::json::array points;
  ByPolicy alone;             // one task
  ByPolicy with_max_tasks;    // max_tasks tasks
  sim::Estimate least{1, 0};  // smallest reduction against the best other policy
  int least_at = 0;           // number of tasks at `least`
  int max_tasks = 0;
};

// The smallest reduction of the paper's policy against any other.
sim::Estimate against_best(const ByPolicy& values) {
  sim::Estimate least{1, 0};
  for (std::size_t p = 1; p < values.size(); ++p) {
    const sim::Estimate cut = sim::reduction(values[p], values[0]);
    if (cut.mean < least.mean) least = cut;
  }
  return least;
}

Result<Curve> curve_of(Study& study, const Experiment& e, const sim::Setting& node, std::size_t m) {
  auto workload = Study::workload(e, e.workloads.front(), node);
  if (!workload) return std::unexpected(workload.error());
  workload->within_s = 1;
  workload->only_model = static_cast<std::int16_t>(m);
  const mig::Model& gpu = *node.gpus.front().model;
  const double slices = static_cast<double>(gpu.compute_slices()) * e.gpus;
  const Sizes sizes = sizes_of(*workload, gpu);
  Curve curve;
  curve.max_tasks = static_cast<int>(kMaxUsed * slices) / std::max(1, sizes.largest);
  for (int n = 1; n <= curve.max_tasks; ++n) {
    workload->tasks = n;
    const auto runs = study.run(e, settings_of(node, n * sizes.mean / slices), *workload);
    if (!runs) return std::unexpected(runs.error());
    curve.csv += fmt::format("{},{}", sim::language_models()[m].name, n);
    boost::json::object point{{"tasks", n}};
    curve.with_max_tasks.clear();
    for (std::size_t p = 0; p < std::size(kPolicies); ++p) {
      curve.with_max_tasks.push_back(tpots((*runs)[p], m));
      const sim::Estimate value = sim::estimate(curve.with_max_tasks[p]);
      curve.csv += fmt::format(",{:.3f},{:.3f}", value.mean, value.ci95);
      point[kPolicies[p]] = to_json(value);
    }
    curve.csv += '\n';
    curve.points.push_back(std::move(point));
    if (n == 1) curve.alone = curve.with_max_tasks;
    const sim::Estimate less = against_best(curve.with_max_tasks);
    if (n == 1 || less.mean >= curve.least.mean) continue;
    curve.least = less;
    curve.least_at = n;
  }
  return curve;
}

}  // namespace

Result<Findings> run_tpot(Study& study, const Experiment& e) {
  Findings found;
  const auto node = study.node(e);
  if (!node) return std::unexpected(node.error());
  ResultTable table{.caption =
                        "Milliseconds per output token with the most tasks at once; the least "
                        "reduction by conditional LB against the best other, over all numbers "
                        "of tasks from two on; and the rise from one task to the most",
                    .columns = {"model", "tasks", "conditional LB", "first fit", "owp-style",
                                "elasticbatch-style", "least reduction", "with", "rise"},
                    .rows = {}};
  std::string csv =
      "model,tasks,paper,paper_ci95,first_fit,first_fit_ci95,owp,owp_ci95,"
      "elasticbatch,elasticbatch_ci95\n";
  for (std::size_t m = 0; m < sim::kLanguageModels; ++m) {
    const auto curve = curve_of(study, e, *node, m);
    if (!curve) return std::unexpected(curve.error());
    const std::string model(sim::language_models()[m].name);
    csv += curve->csv;
    std::vector<std::string> row{model, std::to_string(curve->max_tasks)};
    for (const auto& values : curve->with_max_tasks)
      row.push_back(with_interval(sim::estimate(values), 1));
    sim::Estimate rise = sim::reduction(curve->alone[0], curve->with_max_tasks[0]);
    rise.mean = -rise.mean;
    row.push_back(percent(curve->least));
    row.push_back(fmt::format("{} tasks", curve->least_at));
    row.push_back(percent(rise));
    table.rows.push_back(std::move(row));
    found.measures.push_back(
        {.name = "tpot_reduction",
         .on = model,
         .value = curve->least,
         .note = fmt::format("{} ({} tasks)", percent(curve->least), curve->least_at)});
    found.measures.push_back({.name = "tpot_rise", .on = model, .value = rise, .note = {}});
    found.numbers[model] = boost::json::object{{"points", curve->points},
                                               {"least_reduction", to_json(curve->least)},
                                               {"least_reduction_tasks", curve->least_at},
                                               {"rise", to_json(rise)}};
  }
  found.tables.push_back(std::move(table));
  found.series.push_back({"tpot.csv", std::move(csv)});
  return found;
}

}  // namespace tangram::lab
