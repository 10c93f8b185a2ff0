// Values over time in one run of the full method: the desired and the actual number of instances
// (§V-C), and fragmentation with the moves marked (§V-D).
#include <fmt/format.h>

#include "lab/kinds.hpp"

namespace tangram::lab {
namespace {

struct OneRun {
  sim::Setting node;
  sim::PaperWorkload workload;
};

Result<OneRun> one_run(Study& study, const Experiment& e) {
  const auto node = study.node(e);
  if (!node) return std::unexpected(node.error());
  const auto workload = Study::workload(e, e.workloads.front(), *node);
  if (!workload) return std::unexpected(workload.error());
  return OneRun{*node, *workload};
}

}  // namespace

Result<Findings> run_instances(Study& study, const Experiment& e) {
  const auto run = one_run(study, e);
  if (!run) return std::unexpected(run.error());
  Findings found;
  std::string csv = "time";
  for (const sim::Share& s : e.instances) {
    csv += fmt::format(",desired {},actual {}", s.profile, s.profile);
  }
  csv += '\n';
  std::uint64_t samples = 0;
  std::uint64_t kept = 0;  // samples with more instances than desired: kept for reuse
  sim::Observer observer;
  observer.sample = [&](const sim::Sample& s) {
    csv += fmt::format("{:.3f}", s.at_s);
    bool more = false;
    for (std::size_t i = 0; i < s.desired.size(); ++i) {
      csv += fmt::format(",{},{}", s.desired[i], s.actual[i]);
      more = more || s.actual[i] > s.desired[i];
    }
    csv += '\n';
    ++samples;
    kept += more ? 1 : 0;
  };
  const auto summary =
      sim::simulate(run->node, sim::generate(run->workload, study.options().first_seed), observer);
  if (!summary) return std::unexpected(summary.error());
  const double reused = 1 - static_cast<double>(summary->created) /
                                static_cast<double>(std::max<std::uint64_t>(1, summary->starts));
  found.tables.push_back(
      {.caption =
           fmt::format("One run of {} (seed {})", run->workload.name, study.options().first_seed),
       .columns = {"instances created", "destroyed", "starts of jobs and replicas",
                   "of them on a kept instance", "changes seen with a kept surplus"},
       .rows = {{std::to_string(summary->created), std::to_string(summary->destroyed),
                 std::to_string(summary->starts), fmt::format("{:.0f} %", 100 * reused),
                 fmt::format("{:.0f} %",
                             100.0 * static_cast<double>(kept) /
                                 static_cast<double>(std::max<std::uint64_t>(1, samples)))}}});
  found.numbers = {{"created", summary->created},
                   {"destroyed", summary->destroyed},
                   {"starts", summary->starts},
                   {"reused_share", reused},
                   {"surplus_share", static_cast<double>(kept) /
                                         static_cast<double>(std::max<std::uint64_t>(1, samples))}};
  found.measures.push_back(
      {.name = "reuse", .on = run->workload.name, .value = {reused, 0}, .note = {}});
  found.series.push_back({"instances.csv", std::move(csv)});
  return found;
}

Result<Findings> run_fragmentation(Study& study, const Experiment& e) {
  const auto run = one_run(study, e);
  if (!run) return std::unexpected(run.error());
  Findings found;
  std::string csv = "time,fragmentation\n";
  std::string moves = "time,fragmentation\n";
  double now = 0;
  sim::Observer observer;
  observer.sample = [&](const sim::Sample& s) {
    csv += fmt::format("{:.3f},{:.5f}\n", s.at_s, s.fragmentation);
    now = s.fragmentation;
  };
  observer.move = [&](const sim::MoveRow& m) {
    if (m.report.news != core::MoveNews::kBegun) return;
    moves += fmt::format("{:.3f},{:.5f}\n", m.at_s, now);
  };
  const auto summary =
      sim::simulate(run->node, sim::generate(run->workload, study.options().first_seed), observer);
  if (!summary) return std::unexpected(summary.error());
  found.series.push_back({"fragmentation.csv", std::move(csv)});
  found.series.push_back({"moves.csv", std::move(moves)});
  ResultTable table{.caption = "Mean FragCost over GPUs and time, over all seeds",
                    .columns = {"workload", "without moves", "with moves", "reduction", "moves"},
                    .rows = {}};
  for (const std::string& name : e.workloads) {
    const auto workload = Study::workload(e, name, run->node);
    if (!workload) return std::unexpected(workload.error());
    sim::Setting off = run->node;
    off.tuning.migration = "off";
    const auto runs = study.run(e, {off, run->node}, *workload);
    if (!runs) return std::unexpected(runs.error());
    const auto before = column((*runs)[0], &Run::fragmentation);
    const auto after = column((*runs)[1], &Run::fragmentation);
    const sim::Estimate cut = sim::reduction(before, after);
    table.rows.push_back({name, with_interval(sim::estimate(before), 4),
                          with_interval(sim::estimate(after), 4), percent(cut),
                          with_interval(sim::estimate(column((*runs)[1], &Run::moves)), 1)});
    found.measures.push_back({.name = "fragmentation_reduction",
                              .on = name,
                              .value = cut,
                              .note = fmt::format("{:.4f} → {:.4f}", sim::estimate(before).mean,
                                                  sim::estimate(after).mean)});
    found.numbers[name] =
        boost::json::object{{"off", to_json(sim::estimate(before))},
                            {"both", to_json(sim::estimate(after))},
                            {"reduction", to_json(cut)},
                            {"moves", to_json(sim::estimate(column((*runs)[1], &Run::moves)))}};
  }
  found.tables.push_back(std::move(table));
  return found;
}

}  // namespace tangram::lab
