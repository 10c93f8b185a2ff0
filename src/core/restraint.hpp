// Restraint: what may prevent a wanted move now. Migration policies check it, so that a restrained
// move is known as such and planned again. Restraint never changes which move is better, only which
// are possible.
#pragma once

#include <optional>

#include "core/node.hpp"
#include "core/policy.hpp"

namespace tangram::core {

// The earliest instant at which moves may begin by the daily window; `now` if it is open.
[[nodiscard]] Instant window_opens(const DayWindow& window, Instant now);

// The back-off of this slot for this job, if it has not ended.
[[nodiscard]] const BackOff* backed_off(const Job& job, GpuId gpu, int start, Instant now);

// protect_head: whether changing from one occupancy to the other takes a slot from the job that is
// first for GPUs of this model.
[[nodiscard]] bool takes_place_of_head(const Node& node, ModelId model, mig::Occupancy before,
                                       mig::Occupancy after);

// Collects why there was no move.
struct Restrained {
  bool any = false;
  Instant retry = Instant::max();

  void until(Instant when) {
    any = true;
    retry = std::min(retry, when);
  }
  [[nodiscard]] Answer answer() const { return {std::nullopt, any, retry}; }
};

// The best start for a job on GPU `to` (§IV-D): among the starts that are free on the GPU as it is,
// the lowest FragCost when `base` (the GPU after all moves, without the job) has it; ties: reuse,
// then the highest start. Starts that restraint or a reservation forbids are skipped and recorded.
struct Target {
  Slot slot;
  std::int64_t cost = 0;
};
[[nodiscard]] std::optional<Target> best_target(const Node& node, const Job& job, GpuId to,
                                                mig::Occupancy base, Restrained& restrained);

// Movable (running, ready, not pinned, not a lease, not moving or stopping), cooldown apart.
[[nodiscard]] bool could_move(const Job& job);
// Whether only its cooldown keeps the job from being moved.
[[nodiscard]] bool cooling(const Node& node, const Job& job);

}  // namespace tangram::core
