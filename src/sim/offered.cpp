// See offered.hpp.
#include "sim/offered.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "sim/llm.hpp"

namespace tangram::sim {
namespace {

// The mean demand of a task: once, and per query.
struct MeanTask {
  double slice_seconds = 0;
  double slice_seconds_per_query = 0;
  double gigabytes_per_query = 0;
};

Result<MeanTask> mean_task(const PaperWorkload& paper, const mig::Model& gpu, const Knobs& knobs) {
  const MeanQuery query = mean_query(paper.long_queries);
  const double rate = std::min(knobs.link_gbps, knobs.flow_gbps);
  double all = 0;
  for (const Share& share : paper.mix) all += share.count;
  MeanTask task;
  for (std::size_t i = 0; i < paper.mix.size(); ++i) {
    const auto profile = gpu.find_profile(paper.mix[i].profile);
    if (!profile) return std::unexpected(profile.error());
    const double slices = gpu.profile(*profile).compute_slices;
    for (const bool second : {false, true}) {
      const auto model = static_cast<std::size_t>(paper_model(is_small(paper.mix, i), second));
      const Pass pass = pass_of(language_models()[model], gpu, *profile, knobs);
      const double weight = paper.mix[i].count / all / 2;
      const double fetch = pass.transfer_gb / rate;
      const double step =
          knobs.prefetch > 0.5 ? std::max(fetch, pass.decode_s) : fetch + pass.decode_s;
      task.slice_seconds +=
          weight * slices * (knobs.create_s + knobs.process_start_s + pass.load_s);
      task.slice_seconds_per_query +=
          weight * slices *
          (query.response_tokens * step + query.prompt_tokens * pass.prefill_s_per_token);
      task.gigabytes_per_query += weight * query.response_tokens * pass.transfer_gb;
    }
  }
  return task;
}

struct Capacity {
  double slices = 0;
  double gigabytes_per_second = 0;
};

Capacity capacity_of(const Setting& setting) {
  Capacity capacity;
  for (const GpuSetting& group : setting.gpus) {
    capacity.slices += static_cast<double>(group.count) * group.model->compute_slices();
    capacity.gigabytes_per_second += group.count * setting.knobs.link_gbps;
  }
  return capacity;
}

}  // namespace

Result<Offered> offered_load(const PaperWorkload& paper, const Setting& setting) {
  if (setting.gpus.empty()) return invalid("a node without GPUs has no load.");
  const auto task = mean_task(paper, *setting.gpus.front().model, setting.knobs);
  if (!task) return std::unexpected(task.error());
  const Capacity capacity = capacity_of(setting);
  const double queries = paper.queries_per_task;
  const double seconds = task->slice_seconds + queries * task->slice_seconds_per_query;
  return Offered{
      seconds / paper.mean_arrival_s / capacity.slices,
      queries * task->gigabytes_per_query / paper.mean_arrival_s / capacity.gigabytes_per_second};
}

Result<Offered> offered_load(const Synthetic& synthetic, const Setting& setting) {
  if (setting.gpus.empty()) return invalid("a node without GPUs has no load.");
  const mig::Model& gpu = *setting.gpus.front().model;
  double slices = 0;
  double all = 0;
  for (const Share& share : synthetic.mix) {
    const auto profile = gpu.find_profile(share.profile);
    if (!profile) return std::unexpected(profile.error());
    slices += share.count * gpu.compute_of(*profile);
    all += share.count;
  }
  const Knobs& knobs = setting.knobs;
  const Capacity capacity = capacity_of(setting);
  const double seconds = synthetic.mean_duration_s + knobs.create_s + knobs.process_start_s;
  const double gigabytes = synthetic.mean_duration_s * synthetic.transfer_share *
                           std::min(knobs.link_gbps, knobs.flow_gbps);
  const double rate = 1 / synthetic.mean_arrival_s;
  return Offered{rate * seconds * slices / all / capacity.slices,
                 knobs.contention > 0.5 ? rate * gigabytes / capacity.gigabytes_per_second : 0};
}

Result<double> queries_for_load(const PaperWorkload& paper, const Setting& setting, double load) {
  if (setting.gpus.empty()) return invalid("a node without GPUs has no load.");
  const auto task = mean_task(paper, *setting.gpus.front().model, setting.knobs);
  if (!task) return std::unexpected(task.error());
  const Capacity capacity = capacity_of(setting);
  const double seconds = load * capacity.slices * paper.mean_arrival_s - task->slice_seconds;
  double queries = seconds / task->slice_seconds_per_query;
  if (task->gigabytes_per_query > 0) {
    queries = std::min(queries, load * capacity.gigabytes_per_second * paper.mean_arrival_s /
                                    task->gigabytes_per_query);
  }
  return std::max(1.0, queries);
}

}  // namespace tangram::sim
