// Tangram's own comparisons: every placement policy side by side, other GPU models, nodes of more
// GPUs.
#include <fmt/format.h>

#include "lab/kinds.hpp"
#include "policies/registry.hpp"

namespace tangram::lab {

namespace {

struct Candidate {
  std::string label;
  sim::Setting setting;
};

// Every placement policy without moves, and two with moves, on one node.
std::vector<Candidate> candidates_on(const sim::Setting& node) {
  std::vector<Candidate> candidates;
  const auto add = [&](std::string_view policy, std::string_view migration) {
    const core::PlacementPolicy& placement = **policies::find_placement(policy);
    Candidate candidate{.label = std::string(policy), .setting = node};
    if (migration != "off") candidate.label += " + moves";
    candidate.setting.tuning.placement = policy;
    candidate.setting.tuning.migration = migration;
    candidate.setting.tuning.queue = placement.queue;
    candidates.push_back(std::move(candidate));
  };
  for (const core::PlacementPolicy& policy : policies::placement_policies()) {
    // paper-plain decides as paper does; a policy for idle instances only never creates one.
    if (policy.name != "paper-plain" && !policy.only_idle) add(policy.name, "off");
  }
  add("first-fit", "both");
  add("paper", "both");
  return candidates;
}

// The runs of each candidate, by workload.
Result<std::vector<std::vector<Runs>>> run_candidates(Study& study, const Experiment& e,
                                                      const sim::Setting& node,
                                                      const std::vector<Candidate>& candidates) {
  std::vector<sim::Setting> settings;
  for (const Candidate& candidate : candidates) settings.push_back(candidate.setting);
  std::vector<std::vector<Runs>> by_workload;
  for (const std::string& name : e.workloads) {
    const auto workload = Study::workload(e, name, node);
    if (!workload) return std::unexpected(workload.error());
    auto runs = study.run(e, settings, *workload);
    if (!runs) return std::unexpected(runs.error());
    by_workload.push_back(std::move(*runs));
  }
  return by_workload;
}

boost::json::object numbers_of(const Runs& runs) {
  return {{"wait", to_json(sim::estimate(column(runs, &Run::wait)))},
          {"execution", to_json(sim::estimate(column(runs, &Run::execution)))},
          {"makespan", to_json(sim::estimate(column(runs, &Run::makespan)))}};
}

}  // namespace

Result<Findings> run_baselines(Study& study, const Experiment& e) {
  Findings found;
  ResultTable table{.caption =
                        "Mean makespan in seconds, dynamic partitioning, no moves (the last "
                        "rows: with moves)",
                    .columns = {"placement"},
                    .rows = {}};
  std::string csv = "placement";
  for (const std::string& name : e.workloads) {
    table.columns.push_back(name);
    csv += fmt::format(",{},{} ci95", name, name);
  }
  csv += '\n';
  const auto node = study.node(e);
  if (!node) return std::unexpected(node.error());
  const std::vector<Candidate> candidates = candidates_on(*node);
  const auto by_workload = run_candidates(study, e, *node, candidates);
  if (!by_workload) return std::unexpected(by_workload.error());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::string& label = candidates[i].label;
    table.rows.push_back({label});
    csv += label;
    boost::json::object numbers;
    for (std::size_t w = 0; w < e.workloads.size(); ++w) {
      const Runs& runs = (*by_workload)[w][i];
      const sim::Estimate makespan = sim::estimate(column(runs, &Run::makespan));
      table.rows.back().push_back(with_interval(makespan, 1));
      csv += fmt::format(",{:.3f},{:.3f}", makespan.mean, makespan.ci95);
      numbers[e.workloads[w]] = numbers_of(runs);
    }
    csv += '\n';
    found.numbers[label] = std::move(numbers);
  }
  found.tables.push_back(std::move(table));
  found.series.push_back({"baselines.csv", std::move(csv)});
  return found;
}

namespace {

// Runs first fit, the paper's placement without moves, and the full method on one node, dynamically
// partitioned: static layouts are enumerated for the paper's node only.
Result<std::vector<Runs>> on_node(Study& study, const Experiment& e, std::string_view name,
                                  double arrivals_per_paper) {
  const auto node = study.node(e);
  if (!node) return std::unexpected(node.error());
  sim::Setting as_paper = *node;  // sets the queries per task
  as_paper.gpus.front().count =
      static_cast<std::uint32_t>(static_cast<double>(e.gpus) / arrivals_per_paper);
  auto workload = Study::workload(e, name, as_paper);
  if (!workload) return std::unexpected(workload.error());
  workload->mean_arrival_s /= arrivals_per_paper;
  sim::Setting first = *node;
  first.tuning.placement = "first-fit";
  first.tuning.migration = "off";
  sim::Setting still = *node;
  still.tuning.migration = "off";
  return study.run(e, {first, still, *node}, *workload);
}

Result<Findings> compare_nodes(Study& study, const Experiment& e, bool scale_arrivals,
                               const std::string& series) {
  Findings found;
  ResultTable table{
      .caption =
          "Mean makespan in seconds and its reduction against first fit; all "
          "dynamically partitioned",
      .columns = {"node", "workload", "first fit", "paper, no moves", "full method", "reduction"},
      .rows = {}};
  std::string csv = "node,workload,first_fit,paper,full,reduction,ci95\n";
  for (const NodeVariant& variant : e.nodes) {
    Experiment variant_experiment = e;
    variant_experiment.model = variant.model;
    variant_experiment.gpus = variant.gpus;
    variant_experiment.instances = variant.instances;
    variant_experiment.knobs = variant.knobs;
    const double scale = scale_arrivals ? variant.gpus / static_cast<double>(e.gpus) : 1;
    variant_experiment.tasks = static_cast<int>(e.tasks * scale);
    boost::json::object numbers;
    for (const std::string& name : e.workloads) {
      const auto runs = on_node(study, variant_experiment, name, scale);
      if (!runs) return std::unexpected(runs.error());
      const auto first = column((*runs)[0], &Run::makespan);
      const auto still = sim::estimate(column((*runs)[1], &Run::makespan));
      const auto full = column((*runs)[2], &Run::makespan);
      const sim::Estimate cut = sim::reduction(first, full);
      table.rows.push_back({variant.name, name, with_interval(sim::estimate(first), 1),
                            with_interval(still, 1), with_interval(sim::estimate(full), 1),
                            percent(cut)});
      csv += fmt::format("{},{},{:.3f},{:.3f},{:.3f},{:.4f},{:.4f}\n", variant.name, name,
                         sim::estimate(first).mean, still.mean, sim::estimate(full).mean, cut.mean,
                         cut.ci95);
      numbers[name] = boost::json::object{{"first_fit", to_json(sim::estimate(first))},
                                          {"paper_no_moves", to_json(still)},
                                          {"full", to_json(sim::estimate(full))},
                                          {"reduction", to_json(cut)}};
    }
    found.numbers[variant.name] = std::move(numbers);
  }
  found.tables.push_back(std::move(table));
  found.series.push_back({series, std::move(csv)});
  return found;
}

}  // namespace

Result<Findings> run_gpu_models(Study& study, const Experiment& e) {
  return compare_nodes(study, e, false, "gpu-models.csv");
}

// Arrivals and tasks grow with the node, so that the load per GPU is the same.
Result<Findings> run_node_size(Study& study, const Experiment& e) {
  return compare_nodes(study, e, true, "node-size.csv");
}

}  // namespace tangram::lab
