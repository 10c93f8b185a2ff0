// The measurements of the world (see world.hpp): sums that are updated with every change.
#include <algorithm>

#include "base/check.hpp"
#include "sim/llm.hpp"
#include "sim/seconds.hpp"
#include "sim/world.hpp"

namespace tangram::sim {

void World::advance(Instant to) {
  if (observer_.sample && observer_.sample_every_s > 0) {
    while (true) {
      const Instant due = at_seconds(static_cast<double>(next_sample_) * observer_.sample_every_s);
      if (due > to) break;
      sample(due);
      ++next_sample_;
    }
  }
  const double seconds = to_seconds(to - now_);
  fragmentation_seconds_ += static_cast<double>(cost_sum_) * seconds;
  used_seconds_ += static_cast<double>(used_sum_) * seconds;
  waiting_seconds_ += static_cast<double>(scheduler_.waiting_count()) * seconds;
  now_ = to;
}

// Updates the sums for the GPUs that a step may have changed.
void World::account() {
  const core::Node& node = scheduler_.node();
  changed_ = changed_ || !touched_.empty();
  for (const core::GpuId g : touched_) {
    const core::Gpu& gpu = node.gpu(g);
    GpuState& state = gpus_[g.value()];
    const std::int64_t cost = node.cost(gpu.model, gpu.occupied);
    const int used = node.model(gpu.model).compute_used(gpu.occupied);
    cost_sum_ += cost - state.cost;
    used_sum_ += used - state.used;
    state.cost = cost;
    state.used = used;
  }
  touched_.clear();
  if (begun_ && observer_.sample && observer_.sample_every_s <= 0 && changed_) sample(now_);
  changed_ = false;
}

void World::sample(Instant at) {
  const double denominator =
      static_cast<double>(scheduler_.node().cost_denominator()) * static_cast<double>(gpus_.size());
  observer_.sample(
      {.at_s = to_seconds(at),
       .fragmentation = static_cast<double>(cost_sum_) / denominator,
       .compute_used = static_cast<double>(used_sum_) / static_cast<double>(all_compute_),
       .waiting = scheduler_.waiting_count(),
       .live = unfinished_,
       .desired = desired_,
       .actual = actual_});
}

void World::record(const Live& live) {
  const double wait = to_seconds(live.placed - live.arrival);
  const double execution = to_seconds(live.done - live.placed);
  summary_.wait.add(wait);
  summary_.execution.add(execution);
  summary_.makespan.add(wait + execution);
  double tpot = 0;
  if (live.model >= 0 && live.passes > 0) {
    // Prefill is not output; with prefetching it may overlap the transfer, and is left in.
    const double prefill = knobs_.prefetch > 0.5 ? 0 : live.prefill_s;
    tpot = std::max(0.0, live.serving_s / live.passes - prefill);
    summary_.tpot[static_cast<std::size_t>(live.model)].add(tpot);
  }
  if (!observer_.job) return;
  observer_.job({.id = live.id.value() >> kSlotBits,
                 .profile = workload_.profiles[live.profile],
                 .model = live.model < 0
                              ? std::string_view()
                              : language_models()[static_cast<std::size_t>(live.model)].name,
                 .arrival_s = to_seconds(live.arrival),
                 .placed_s = to_seconds(live.placed),
                 .ready_s = to_seconds(live.ready),
                 .finished_s = to_seconds(live.done),
                 .tpot_s = tpot,
                 .gpu = live.last_gpu,
                 .moves = live.moves});
}

void World::count_instance(core::GpuId gpu, core::InstanceId instance, int change) {
  const core::Node& node = scheduler_.node();
  const core::Entry* entry = node.find(gpu, instance);
  CHECK(entry != nullptr);
  const int w = profile_of_[node.gpu(gpu).model.value()][entry->placement.profile.value()];
  if (w < 0) return;
  auto& actual = actual_[static_cast<std::size_t>(w)];
  actual = static_cast<std::uint32_t>(static_cast<int>(actual) + change);
  changed_ = true;
}

}  // namespace tangram::sim
