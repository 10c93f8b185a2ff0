// The migration policies: what to do for a GPU that a job has left (§IV-D). Each returns at most
// one move and is called again when that move has ended. Loads and FragCosts are those of the GPUs
// as if all moves under way had ended; feasibility is that of the GPUs as they are.
#pragma once

#include "core/node.hpp"
#include "core/policy.hpp"

namespace tangram::policies {

core::Answer off_next_move(const core::Node&, core::GpuId);
core::Answer intra_next_move(const core::Node&, core::GpuId);
core::Answer inter_next_move(const core::Node&, core::GpuId);
core::Answer both_next_move(const core::Node&, core::GpuId);
// The same as inter_next_move, looking at every job of every GPU: the oracle.
core::Answer inter_next_move_plain(const core::Node&, core::GpuId);
core::Answer both_next_move_plain(const core::Node&, core::GpuId);

// Lazy or Busy as if all moves under way had ended.
[[nodiscard]] inline bool busy_after_moves(const core::Node& node, core::GpuId g) {
  return node.index().ranks(node.gpu(g).model).busy(node.gpu(g).projected);
}
// Whether an intra-GPU move gains as much FragCost as the restraint requires; the costs are those
// of Node::cost.
[[nodiscard]] bool enough_gain(const core::Node& node, std::int64_t before, std::int64_t after);
// The condition of §IV-D step 1: after the move the target's load is strictly below the source's.
[[nodiscard]] inline bool balances(int target_used, int source_used, int job_slices) {
  return target_used + job_slices < source_used - job_slices;
}

}  // namespace tangram::policies
