// See study.hpp.
#include "lab/study.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "mig/catalog.hpp"
#include "sim/hardware.hpp"
#include "sim/offered.hpp"

namespace tangram::lab {
namespace {

// The cache key: everything that the outcome of runs depends on.
std::string key_of(const sim::Setting& setting, const sim::PaperWorkload& w, int seeds,
                   std::uint64_t first_seed) {
  std::string key =
      fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", w.name, w.mean_arrival_s, w.long_queries,
                  w.tasks, w.queries_per_task, seeds, first_seed, setting.tuning.placement,
                  setting.tuning.migration, setting.tuning.threshold.text());
  key += fmt::format("|{}|{}", w.within_s, static_cast<int>(w.only_model));
  key += fmt::format("|{}|{}", setting.tuning.queue, static_cast<int>(setting.partitioning));
  const core::Restraint& r = setting.tuning.restraint;
  key += fmt::format("|{}|{}|{}|{}", r.most_moves, r.cooldown.count(), r.smallest_gain_ppm,
                     r.protect_head);
  for (const sim::Share& share : w.mix) key += fmt::format("|{}:{}", share.profile, share.count);
  for (const sim::Knob& knob : sim::knob_table()) {
    key += fmt::format("|{}", setting.knobs.*(knob.value));
  }
  for (const sim::GpuSetting& gpu : setting.gpus) {
    key += fmt::format("|{}x{}", gpu.count, gpu.model->name());
    for (const mig::Placement& p : gpu.layout) {
      key += fmt::format(",{}@{}", p.profile.value(), p.start);
    }
  }
  return key;
}

Run run_of(const sim::Summary& s) {
  Run run{.wait = s.wait.mean(),
          .execution = s.execution.mean(),
          .makespan = s.makespan.mean(),
          .fragmentation = s.fragmentation,
          .moves = static_cast<double>(s.moves_done)};
  for (std::size_t i = 0; i < run.tpot.size(); ++i) run.tpot[i] = s.tpot[i].mean();
  return run;
}

}  // namespace

std::vector<double> column(const Runs& runs, double Run::* which) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const Run& run : runs) values.push_back(run.*which);
  return values;
}

Result<sim::Setting> Study::node(const Experiment& e) const {
  const auto model = mig::find_model(e.model);
  if (!model) return std::unexpected(model.error());
  sim::Setting setting;
  setting.gpus = {
      {.model = std::make_shared<const mig::Model>(**model), .count = e.gpus, .layout = {}}};
  setting.tuning.threshold = e.threshold;
  setting.tuning.restraint = sim::no_restraint();
  setting.knobs = sim::knobs_for(**model);
  for (const auto* list : {&e.knobs, &options_.knobs}) {
    for (const std::string& knob : *list) {
      const auto set = sim::set_knob(setting.knobs, knob);
      if (!set) return std::unexpected(set.error());
    }
  }
  return setting;
}

sim::Setting Study::baseline(const sim::Setting& node, const sim::Arrangement& arrangement) {
  sim::Setting setting = node;
  setting.partitioning = core::Partitioning::kStatic;
  setting.tuning.placement = "static-first-fit";
  setting.tuning.migration = "off";
  setting.gpus.clear();
  for (const auto& layout : arrangement) {
    setting.gpus.push_back({.model = node.gpus.front().model, .count = 1, .layout = layout});
  }
  return setting;
}

Result<sim::PaperWorkload> Study::workload(const Experiment& e, std::string_view name,
                                           const sim::Setting& node) {
  auto reference = sim::paper_workload(sim::paper_workload_names().front());
  auto workload = sim::paper_workload(name);
  if (!workload) return std::unexpected(workload.error());
  reference->mix = e.instances;
  workload->mix = e.instances;
  workload->tasks = e.tasks;
  const auto queries = sim::queries_for_load(*reference, node, e.load_percent / 100.0);
  if (!queries) return std::unexpected(queries.error());
  workload->queries_per_task = *queries;
  return workload;
}

Result<std::vector<Runs>> Study::run(const Experiment& e, const std::vector<sim::Setting>& settings,
                                     const sim::PaperWorkload& workload) {
  const int count = seeds(e);
  std::vector<sim::Trial> trials;
  std::vector<std::string> keys;
  std::vector<std::string> missing;
  for (const sim::Setting& setting : settings) {
    keys.push_back(key_of(setting, workload, count, options_.first_seed));
    if (cache_.contains(keys.back())) continue;
    cache_[keys.back()] = {};
    missing.push_back(keys.back());
    for (int s = 0; s < count; ++s) {
      const std::uint64_t seed = options_.first_seed + static_cast<std::uint64_t>(s);
      trials.push_back({setting, [workload, seed] { return sim::generate(workload, seed); }});
    }
  }
  Progress* progress = options_.progress;
  if (progress != nullptr && options_.counting) {
    progress->total += trials.size() * static_cast<std::uint64_t>(workload.tasks);
  }
  Runs outcome(trials.size());
  const sim::TrialOptions how{.threads = options_.threads,
                              .finished = progress ? &progress->done : nullptr};
  if (options_.counting) trials.clear();
  const auto done = sim::run_trials(
      trials, how, [&](std::size_t i, sim::Summary&& s) { outcome[i] = run_of(s); });
  if (!done) {
    for (const std::string& key : missing) cache_.erase(key);
    return std::unexpected(done.error());
  }
  for (std::size_t i = 0; i < missing.size(); ++i) {
    const auto first = outcome.begin() + static_cast<std::ptrdiff_t>(i) * count;
    cache_[missing[i]].assign(first, first + count);
  }
  std::vector<Runs> runs;
  for (const std::string& key : keys) runs.push_back(cache_[key]);
  return runs;
}

Result<Study::BestStatic> Study::best_static(const Experiment& e, const sim::Setting& node,
                                             const sim::PaperWorkload& workload, double Run::* by,
                                             std::string_view placement) {
  const auto all = sim::arrangements(*node.gpus.front().model, e.instances, e.gpus);
  if (!all) return std::unexpected(all.error());
  std::vector<sim::Setting> settings;
  for (const sim::Arrangement& arrangement : *all) {
    settings.push_back(baseline(node, arrangement));
    settings.back().tuning.placement = placement;
  }
  auto runs = run(e, settings, workload);
  if (!runs) return std::unexpected(runs.error());
  std::size_t best = 0;
  double least = 0;
  for (std::size_t i = 0; i < runs->size(); ++i) {
    const double mean = sim::estimate(column((*runs)[i], by)).mean;
    if (i == 0 || mean < least) {
      best = i;
      least = mean;
    }
  }
  return BestStatic{settings[best], std::move((*runs)[best]), all->size()};
}

}  // namespace tangram::lab
