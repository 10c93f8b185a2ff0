// See restraint.hpp.
#include "core/restraint.hpp"

#include <chrono>
#include <tuple>

#include "core/candidates.hpp"

namespace tangram::core {

Instant window_opens(const DayWindow& window, Instant now) {
  if (window.from_s == window.to_s) return now;
  constexpr Duration kDay = std::chrono::hours(24);
  const Duration since_midnight = ((now.time_since_epoch() % kDay) + kDay) % kDay;
  const Duration from = std::chrono::seconds(window.from_s);
  const Duration to = std::chrono::seconds(window.to_s);
  const bool open = from < to ? since_midnight >= from && since_midnight < to
                              : since_midnight >= from || since_midnight < to;
  if (open) return now;
  const Duration wait = (from - since_midnight + kDay) % kDay;
  return now + wait;
}

const BackOff* backed_off(const Job& job, GpuId gpu, int start, Instant now) {
  for (const BackOff& b : job.back_offs) {
    if (b.gpu == gpu && b.start == start && b.until > now) return &b;
  }
  return nullptr;
}

bool takes_place_of_head(const Node& node, ModelId model, mig::Occupancy before,
                         mig::Occupancy after) {
  const JobSlot head = node.head_of(model);
  if (!node.tuning().restraint.protect_head || head == kNoJob) return false;
  const auto profile = node.profile_on(model, node.job(head).profile);
  if (!profile) return false;
  const mig::Model& m = node.model(model);
  return m.feasible(after, *profile) < m.feasible(before, *profile);
}

std::optional<Target> best_target(const Node& node, const Job& job, GpuId to, mig::Occupancy base,
                                  Restrained& restrained) {
  const Gpu& gpu = node.gpu(to);
  const mig::Model& model = node.model(gpu.model);
  std::optional<Target> best;
  const auto on_candidate = [&](const Slot& slot) {
    const auto profile = *node.profile_on(gpu.model, job.profile);
    const mig::Occupancy after = model.with(base, {profile, slot.start});
    if (takes_place_of_head(node, gpu.model, gpu.projected, after) ||
        delays_reservation(node, Request{.profile = job.profile}, to, {profile, slot.start})) {
      restrained.until(Instant::max());
      return;
    }
    if (const BackOff* b = backed_off(job, to, slot.start, node.now())) {
      restrained.until(b->until);
      return;
    }
    const Target target{slot, node.cost(gpu.model, after)};
    const auto key = [](const Target& t) {
      return std::tuple(t.cost, !t.slot.reuse, -int{t.slot.start});
    };
    if (!best || key(target) < key(*best)) best = target;
  };
  // Reserved places are candidates here, so that the restraint is known.
  const Request all{.profile = job.profile, .ends = Instant::min()};
  for_each_candidate(node, all, to, false, on_candidate);
  return best;
}

bool could_move(const Job& job) {
  return job.allowed_to_move && job.phase == JobPhase::kRunning && job.main.ready &&
         !job.main.stopping && !job.moving();
}

bool cooling(const Node& node, const Job& job) {
  return could_move(job) && job.cooldown_until > node.now();
}

}  // namespace tangram::core
