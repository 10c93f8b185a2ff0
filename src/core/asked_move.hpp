// A move that somebody asks for by hand: whether it can be made now, and to where. What restrains
// the scheduler's own moves (cooldown, gain, window of the day, the place of the first waiting job)
// does not restrain people; what keeps moves safe (pinned jobs, one move into a GPU at a time, the
// most at a time) does. One rule: whoever is refused is told why, and the scheduler refuses exactly
// what is refused here.
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
