// Explanations as data: why a job was (or would be) placed where, and why a waiting job waits and
// what would unblock it. Computed on request from a state, never on the way of a decision. One
// rule: an explanation asks the very functions that decide, so the two cannot disagree.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/asked_move.hpp"
#include "core/node.hpp"
#include "core/policy.hpp"
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
  kUnresponsive,  // the driver does not answer for it
  kLost,          // the driver has it no more
  kNoProfile,     // this model does not have it
  kLimit,         // the instance limits (+me …) do not admit one more
  kSlicesShort,   // fewer compute or memory slices are left than it needs
  kFragmented,    // enough slices are left, but not at a legal start
  kBackOff,       // the places that are free failed this job lately
  kNoIdle,        // static partitioning: no idle instance of exactly this profile
};
[[nodiscard]] std::string_view name_of(NoCandidate why);

// An instance that no job's end removes: foreign or quarantined.
struct Standing {
  std::string profile;
  std::uint8_t start = 0;
  EntryState state = EntryState::kForeign;
};

struct GpuWithout {
  GpuId gpu;
  NoCandidate why = NoCandidate::kSlicesShort;
  std::vector<Standing> standing = {};  // at its legal places, by start; of GPUs in service
};

struct ArrivalExplanation {
  std::vector<ExplainedCandidate> candidates;  // the preferred first
  // The part of the key in which the winner beats the next one; none if it is the only one.
  std::optional<std::size_t> decided_by;
  std::vector<GpuWithout> without;  // GPUs that have no candidate, with the reason

  [[nodiscard]] std::optional<Slot> winner() const {
    return candidates.empty() ? std::nullopt : std::optional(candidates.front().slot);
  }
};
[[nodiscard]] ArrivalExplanation explain_arrival(const Node& node, const PlacementPolicy& policy,
                                                 const Request& request);

// A way to make room: these moves, in this order, each asked for when the one before is over, and
// then the slot is free. What is asked for by hand is begun unless what restrains it says no: see
// asked_move.hpp.
struct Room {
  std::vector<Move> moves;
  Slot slot;
  std::vector<std::vector<Restraining>> restrained = {};  // of each move; as things are now
};

// Room that comes by itself: once these jobs, which are being stopped or moved away, have left.
struct RoomToCome {
  std::vector<JobId> jobs;
  Slot slot;
};

struct WaitingExplanation {
  std::vector<GpuWithout> without;               // why no GPU can take it now
  std::vector<Room> moves_that_make_room;        // fewest moves first, at most kMostRooms
  std::vector<JobId> departures_that_make_room;  // jobs each of whose end alone would do
  std::optional<RoomToCome> to_come = {};        // the one that awaits the fewest jobs
  std::vector<ProfileName> fits_now = {};        // profiles that some GPU could take at once
};
inline constexpr std::size_t kMostRooms = 5;
inline constexpr std::size_t kMostMovesPerRoom = 3;

[[nodiscard]] WaitingExplanation explain_waiting(const Node& node, const PlacementPolicy& policy,
                                                 const Request& request);

// What keeps a draining GPU from being empty: each instance that occupies it, and why it stays.
struct DrainHoldUp {
  InstanceId instance;
  std::optional<JobId> job;
  std::string_view why;
};
[[nodiscard]] std::vector<DrainHoldUp> drain_hold_ups(const Node& node,
                                                      const PlacementPolicy& policy, GpuId gpu);

}  // namespace tangram::core
