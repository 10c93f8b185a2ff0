// A plan to bring the node's FragCost down: the moves that lower it most, one after the other, each
// as if those before it were over. It is asked for by people; the scheduler's own moves follow
// §IV-D. One rule: every step lowers the sum of FragCost over the GPUs, and can be made while the
// job still holds its old slices; so a plan may end at any step and the node is better for it.
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

// Cooldowns do not count; pinned jobs, places that failed a job lately, the place of the first
// waiting job (protect_head) and the smallest gain do. Moves to other GPUs stay within the model.
[[nodiscard]] std::vector<DefragStep> plan_defrag(const core::Node& node, std::size_t most);

// FragCost of all GPUs together, as if all moves under way were over.
[[nodiscard]] std::int64_t total_cost(const core::Node& node);

}  // namespace tangram::policies
