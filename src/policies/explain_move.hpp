// Why a move was made: all moves that the paper's method considers for a GPU that a job has left,
// with their measures. Computed on request, of the present or of a past step. The first one is the
// one that next_move returns; a test compares the two.
#pragma once

#include <vector>

#include "base/error.hpp"
#include "base/instant.hpp"
#include "core/event.hpp"
#include "core/node.hpp"
#include "core/policy.hpp"
#include "core/scheduler.hpp"
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
  bool busy = false;  // considered: intra-GPU moves if Busy, inter-GPU if Lazy
  mig::FragCost present;
  std::vector<ExplainedMove> candidates;  // the preferred first; only those that may be made
};

[[nodiscard]] MoveExplanation explain_move(const core::Node& node, core::GpuId to);

// Explains a move that the step (at, event) began by itself; `before`: the scheduler before it. The
// first candidate is the move that was made. Fails if that step began no such move, or did so much
// else that the decision cannot be rebuilt, or another kind of policy made it; never returns a
// wrong answer.
[[nodiscard]] Result<MoveExplanation> explain_move_made(const core::Scheduler& before, Instant at,
                                                        const core::Event& event, core::JobId job);

}  // namespace tangram::policies
