// A move that somebody asks for by hand: whether it can be made now, and to where. What an operator
// restrains the scheduler's own moves with (migration off, cooldown, window of the day, the place
// of the first waiting job) restrains the owners of jobs too, but not operators; what keeps moves
// safe (pinned jobs, one move into a GPU at a time, the most at a time) holds for everybody. One
// rule: whoever is refused is told why, and the scheduler refuses exactly what is refused here.
#pragma once

#include "base/error.hpp"
#include "core/event.hpp"
#include "core/node.hpp"
#include "core/policy.hpp"

namespace tangram::core {

// Without a place: the arrival choice of the placement policy, elsewhere.
[[nodiscard]] Result<Move> asked_move(const Node& node, const Policies& policies,
                                      const MoveAsked& asked);

}  // namespace tangram::core
