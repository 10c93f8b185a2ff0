// A plan to lower the node's FragCost: the moves that lower it most, one after another, each as if
// those before it had ended. Requested by users; the scheduler's own moves follow §IV-D. Every step
// lowers the sum of FragCost over the GPUs, and can be made while the job still holds its old
// slices; so a plan may stop after any step.
#pragma once

#include <cstdint>
#include <vector>

#include "core/node.hpp"
#include "core/policy.hpp"

namespace tangram::policies {

struct DefragStep {
  core::Move move;
  std::uint8_t from_start = 0;
  std::int64_t before = 0;  // FragCost of all GPUs together, over the node's cost_denominator()
  std::int64_t after = 0;
};

// Ignores cooldowns; respects pinned jobs, slots in back-off for a job, the slot of the first
// waiting job (protect_head) and the smallest gain. Moves to other GPUs stay within the model.
[[nodiscard]] std::vector<DefragStep> plan_defrag(const core::Node& node, std::size_t most);

// FragCost of all GPUs together, as if all moves under way had ended.
[[nodiscard]] std::int64_t total_cost(const core::Node& node);

}  // namespace tangram::policies
