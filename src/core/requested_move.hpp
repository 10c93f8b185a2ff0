// A move requested by a user: whether it can be made now, and to where. What restrains the
// scheduler's own moves (migration off, cooldown, daily window, the slot of the first waiting job)
// restrains the owners of jobs too, but not operators; what keeps moves safe (pinned jobs, one move
// into a GPU at a time, the maximum number of moves) applies to all. The scheduler rejects exactly
// the requests that are rejected here.
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

// What restrains a move; see Restraint. The maximum number of moves restrains operators too.
enum class RestraintKind : std::uint8_t { kMaxMoves, kOff, kWindow, kCooldown, kProtectHead };
[[nodiscard]] std::string_view name_of(RestraintKind kind);  // as it is tuned: "most_moves"

struct Restraining {
  RestraintKind by = RestraintKind::kOff;
  std::optional<Instant> until = {};  // if time ends it

  friend bool operator==(const Restraining&, const Restraining&) = default;
};
// What restrains a move of this job to that GPU, which changes that GPU (after all moves) from
// `before` to `after`; in the order in which it is checked.
[[nodiscard]] std::vector<Restraining> what_restrains(const Node& node, const Job& job, GpuId to,
                                                      mig::Occupancy before, mig::Occupancy after);

// Returns the move to make, or why it cannot be made now. Without a given slot: the arrival choice
// of the placement policy, on another slot.
[[nodiscard]] Result<Move> requested_move(const Node& node, const Policies& policies,
                                          const MoveRequested& requested);

}  // namespace tangram::core
