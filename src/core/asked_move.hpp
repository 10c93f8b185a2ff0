// A move that somebody asks for by hand: whether it can be made now, and to where. What an operator
// restrains the scheduler's own moves with (migration off, cooldown, window of the day, the place
// of the first waiting job) restrains the owners of jobs too, but not operators; what keeps moves
// safe (pinned jobs, one move into a GPU at a time, the most at a time) holds for everybody. One
// rule: whoever is refused is told why, and the scheduler refuses exactly what is refused here.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/instant.hpp"
#include "core/event.hpp"
#include "core/node.hpp"
#include "core/policy.hpp"

namespace tangram::core {

// What restrains a move; see Restraint. The most at a time restrains everybody.
enum class RestraintKind : std::uint8_t { kMostMoves, kOff, kWindow, kCooldown, kProtectHead };
[[nodiscard]] std::string_view name_of(RestraintKind kind);  // as it is tuned: "most_moves"

struct Restraining {
  RestraintKind by = RestraintKind::kOff;
  std::optional<Instant> until = {};  // if time ends it

  friend bool operator==(const Restraining&, const Restraining&) = default;
};
// Of a move of this job to that GPU, which changes that GPU (all moves over) from `before` to
// `after`; in the order in which they are asked.
[[nodiscard]] std::vector<Restraining> what_restrains(const Node& node, const Job& job, GpuId to,
                                                      mig::Occupancy before, mig::Occupancy after);

// Without a place: the arrival choice of the placement policy, elsewhere.
[[nodiscard]] Result<Move> asked_move(const Node& node, const Policies& policies,
                                      const MoveAsked& asked);

}  // namespace tangram::core
