// Explanations as data: why a job was (or would be) placed where, and why a waiting job waits and
// what would unblock it. Computed on request from a state, not while deciding. They use the
// functions that decide, so the two cannot disagree.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/node.hpp"
#include "core/policy.hpp"
#include "core/requested_move.hpp"
#include "mig/frag_cost.hpp"

namespace tangram::core {

struct ExplainedCandidate {
  Slot slot;
  bool busy = false;
  mig::FragCost before;
  mig::FragCost after;
  Key key{};
};

// Why a GPU has no candidate for a profile.
enum class NoCandidate : std::uint8_t {
  kCordoned,
  kDraining,      // cordoned, and its jobs are moved away or awaited
  kUnresponsive,  // the driver does not respond
  kLost,          // the driver has lost it
  kNoProfile,     // this model does not have it
  kOtherModel,    // the request is for GPUs of another model
  kLimit,         // the instance limits (+me …) do not admit one more
  kSlicesShort,   // fewer compute or memory slices are left than it needs
  kFragmented,    // enough slices are left, but not at a legal start
  kBackOff,       // the free slots failed this job recently
  kQueued,        // GPUs of this model go to an earlier waiting job first
  kReserved,      // the free slots are reserved for waiting jobs
  kNoIdle,        // static partitioning: no idle instance of exactly this profile
};
[[nodiscard]] std::string_view name_of(NoCandidate why);

// An instance that stays when jobs end: foreign or quarantined.
struct Standing {
  std::string profile;
  std::uint8_t start = 0;
  EntryState state = EntryState::kForeign;
};

struct GpuWithout {
  GpuId gpu;
  NoCandidate why = NoCandidate::kSlicesShort;
  std::vector<Standing> standing = {};  // at its legal starts; of GPUs in service
};

struct ArrivalExplanation {
  std::vector<ExplainedCandidate> candidates;  // the preferred first
  // The part of the key in which the winner beats the runner-up; none if it is the only one.
  std::optional<std::size_t> decided_by;
  std::vector<GpuWithout> without;  // GPUs that have no candidate, with the reason

  [[nodiscard]] std::optional<Slot> winner() const {
    return candidates.empty() ? std::nullopt : std::optional(candidates.front().slot);
  }
};
[[nodiscard]] ArrivalExplanation explain_arrival(const Node& node, const PlacementPolicy& policy,
                                                 const Request& request);

// Moves that free a slot, in this order, each requested after the one before has ended. A requested
// move is made unless it is restrained: see requested_move.hpp.
struct UnblockingMoves {
  std::vector<Move> moves;
  Slot slot;
  std::vector<std::vector<Restraining>> restrained = {};  // of each move; as things are now
};

// A slot that will become free: once these jobs, which are being stopped or moved away, have left.
struct AwaitedDepartures {
  std::vector<JobId> jobs;
  Slot slot;
};

struct WaitingExplanation {
  std::vector<GpuWithout> without;                    // why no GPU can take it now
  std::vector<UnblockingMoves> moves_that_make_room;  // fewest moves first
  std::vector<JobId> departures_that_make_room;       // jobs whose end alone would free a slot
  // Services that may not be moved, each in moves that would free a slot if it and the others there
  // allowed it. Empty if moves of others free one.
  std::vector<JobId> could_move = {};
  std::optional<AwaitedDepartures> to_come = {};  // the one with the fewest jobs
  std::vector<ProfileName> fits_now = {};         // profiles that could be placed at once
};
inline constexpr std::size_t kMaxUnblockingAlternatives = 5;
inline constexpr std::size_t kMaxUnblockingMoves = 3;

[[nodiscard]] WaitingExplanation explain_waiting(const Node& node, const PlacementPolicy& policy,
                                                 const Request& request);

// What keeps a draining GPU occupied: each instance on it, and why it stays.
struct DrainHoldUp {
  InstanceId instance;
  std::optional<JobId> job;
  std::string_view why;
};
[[nodiscard]] std::vector<DrainHoldUp> drain_hold_ups(const Node& node,
                                                      const PlacementPolicy& policy, GpuId gpu);

}  // namespace tangram::core
