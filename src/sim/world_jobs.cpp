// How jobs progress in the world (see world.hpp): where each is served, and how fast.
#include <algorithm>
#include <array>

#include "base/check.hpp"
#include "sim/seconds.hpp"
#include "sim/world.hpp"

namespace tangram::sim {

const World::Speed& World::speed(core::GpuId gpu, const Live& live) const {
  const core::ModelId model = scheduler_.node().gpu(gpu).model;
  return speeds_[model.value()]
                [live.profile * kLanguageModels + static_cast<std::size_t>(live.model)];
}

double World::start_seconds(core::GpuId gpu, const Live& live) const {
  return knobs_.process_start_s + (live.model < 0 ? 0 : speed(gpu, live).load_s);
}

// From the start of its process to its end, if it has the GPU for itself; of several GPU models,
// the slowest.
double World::seconds_alone(const Live& live) const {
  if (live.model < 0) return knobs_.process_start_s + live.passes;
  double slowest = 0;
  for (const std::vector<Speed>& speeds : speeds_) {
    const Speed& s = speeds[live.profile * kLanguageModels + static_cast<std::size_t>(live.model)];
    if (s.load_s <= 0) continue;  // the GPU model does not have the profile
    Stream stream = s.stream;
    if (live.passes > 0)
      stream.compute_s += live.prompt_tokens * s.prefill_s_per_token / live.passes;
    double pass_s = 0;
    pass_times(std::span(&stream, 1), knobs_, std::span(&pass_s, 1));
    slowest = std::max(slowest, knobs_.process_start_s + s.load_s + live.passes * pass_s);
  }
  return slowest;
}

// From now on this run does the job's work.
void World::serve(Slot slot, int run) {
  Live& live = lives_[slot];
  live.serving = static_cast<std::int16_t>(run);
  live.as_of = now_;
  const core::GpuId gpu = live.runs[run].gpu;
  live.last_gpu = gpu.value();
  if (live.model < 0) {
    const double link = std::min(knobs_.link_gbps, knobs_.flow_gbps);
    live.stream = {live.transfer_share * link, 1 - static_cast<double>(live.transfer_share)};
  } else {
    const Speed& s = speed(gpu, live);
    live.stream = s.stream;
    if (live.passes > 0) {
      live.prefill_s = live.prompt_tokens * s.prefill_s_per_token / live.passes;
    }
    live.stream.compute_s += live.prefill_s;
  }
  if (knobs_.contention < 0.5) {
    update_speed_alone(slot);
    return;
  }
  GpuState& state = gpus_[gpu.value()];
  live.before = kNoSlot;
  live.after = state.first;
  if (state.first != kNoSlot) lives_[state.first].before = slot;
  state.first = slot;
  update_speeds(gpu);
}

void World::stop_serving(Slot slot) {
  Live& live = lives_[slot];
  update_progress(live);
  const core::GpuId gpu = live.runs[live.serving].gpu;
  live.serving = -1;
  milestones_.erase(slot);
  if (knobs_.contention < 0.5) return;
  if (live.before == kNoSlot) {
    gpus_[gpu.value()].first = live.after;
  } else {
    lives_[live.before].after = live.after;
  }
  if (live.after != kNoSlot) lives_[live.after].before = live.before;
  update_speeds(gpu);
}

// Accounts the work done since as_of.
void World::update_progress(Live& live) {
  if (live.serving < 0 || live.as_of == now_) return;
  const double seconds = to_seconds(now_ - live.as_of);
  const double done = seconds / live.pass_s;
  live.left -= done;
  live.serving_s += seconds;
  live.as_of = now_;
  summary_.work_done += done;
}

// A job came or went: recomputes the speeds of all on the GPU.
void World::update_speeds(core::GpuId gpu) {
  std::array<Slot, kMaxStreams> slots{};
  std::array<Stream, kMaxStreams> streams{};
  std::array<double, kMaxStreams> seconds{};
  std::size_t n = 0;
  for (Slot s = gpus_[gpu.value()].first; s != kNoSlot; s = lives_[s].after) {
    update_progress(lives_[s]);
    slots[n] = s;
    streams[n++] = lives_[s].stream;
  }
  pass_times(std::span(streams).first(n), knobs_, std::span(seconds).first(n));
  for (std::size_t i = 0; i < n; ++i) {
    Live& live = lives_[slots[i]];
    live.pass_s = seconds[i];
    set_milestone(slots[i]);
  }
}

void World::update_speed_alone(Slot slot) {
  Live& live = lives_[slot];
  pass_times(std::span(&live.stream, 1), knobs_, std::span(&live.pass_s, 1));
  set_milestone(slot);
}

void World::set_milestone(Slot slot) {
  const Live& live = lives_[slot];
  const double left = std::max(0.0, live.left - live.goal);
  milestones_.set(slot, live.as_of + duration_of(left * live.pass_s));
}

// Handles the end of a query on the original, or of the job.
void World::reach_milestone() {
  const Slot slot = milestones_.slot();
  Live& live = lives_[slot];
  if (live.goal > 0) {
    update_progress(live);
    const core::RunId from = live.runs[live.serving].run;
    const core::RunId to = live.runs[live.next].run;
    switch_stream(slot);
    step(core::TrafficDrained{live.id, from, to});
    return;
  }
  const int run = live.serving;
  stop_serving(slot);
  live.left = 0;
  live.done = now_;
  mark_done(live);
  const core::RunId id = live.runs[run].run;
  release(live, run);
  step(core::JobExited{live.id, id, true});
}

void World::switch_stream(Slot slot) {
  const int next = lives_[slot].next;
  CHECK(next >= 0);
  stop_serving(slot);
  lives_[slot].goal = 0;
  lives_[slot].next = -1;
  serve(slot, next);
}

// The process has ended; the driver may keep the instance in use for a moment.
void World::release(Live& live, int run) {
  Run& r = live.runs[run];
  const Instant free_from = now_ + duration_of(knobs_.in_use_s * random_.uniform());
  Released& older =
      *std::ranges::min_element(gpus_[r.gpu.value()].released, {}, &Released::free_from);
  if (older.free_from > now_) {
    std::erase_if(more_released_, [this](const Released& old) { return old.free_from <= now_; });
    more_released_.push_back(older);
  }
  older = {r.instance, free_from};
  touch(r.gpu);
  r = {};
}

// The job's work is done; the scheduler may still have to stop a replica of it.
void World::mark_done(const Live& live) {
  --desired_[live.profile];
  --unfinished_;
  last_finish_ = now_;
  changed_ = true;
}

void World::free_slot(Slot slot) {
  Live& live = lives_[slot];
  CHECK(live.serving < 0);
  live.id = core::JobId();
  --live_count_;
  free_.push_back(slot);
  if (observer_.finished != nullptr) {
    observer_.finished->fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace tangram::sim
