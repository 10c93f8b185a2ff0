// Restraint: what may keep a wanted move from being made now. Asked by the migration policies, so
// that a restrained move is known as such and asked again. One rule: restraint never changes which
// move is better, only which are possible.
#pragma once

#include <optional>

#include "core/node.hpp"
#include "core/policy.hpp"

namespace tangram::core {

// The earliest instant at which moves may begin by the daily window; `now` if it is open.
[[nodiscard]] Instant window_opens(const DayWindow& window, Instant now);

// The back-off of this place for this job, if it is still running.
[[nodiscard]] const BackOff* backed_off(const Job& job, GpuId gpu, int start, Instant now);

// protect_head: whether going from one occupancy to the other takes a place from the first
// waiting job.
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

// Where a job would best go on GPU `to` (§IV-D): among the starts that are free as the GPU is, the
// lowest FragCost when `base` (the GPU as if all moves were over, without the job) has it; ties:
// reuse, then the highest start. Starts that restraint forbids are left out and noted.
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
