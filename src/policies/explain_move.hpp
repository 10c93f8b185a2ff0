// Why a move: all moves that the paper's method weighs for a GPU that a job has left, with what
// they are weighed by. Computed on request. One rule: the first one is the one next_move gives; a
// test holds the two together.
#pragma once

#include <vector>

#include "core/node.hpp"
#include "core/policy.hpp"
#include "mig/frag_cost.hpp"

namespace tangram::policies {

struct ExplainedMove {
  core::Move move;
  // Intra-GPU: of the GPU itself. Inter-GPU: of the GPU that the job leaves.
  mig::FragCost before;
  mig::FragCost after;
  mig::FragCost target_after;  // of the GPU that takes the job
};

struct MoveExplanation {
  bool busy = false;  // the question asked: intra-GPU if Busy, inter-GPU if Lazy
  mig::FragCost present;
  std::vector<ExplainedMove> candidates;  // the preferred first; only those that may be made
};

[[nodiscard]] MoveExplanation explain_move(const core::Node& node, core::GpuId to);

}  // namespace tangram::policies
