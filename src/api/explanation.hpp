// Why, on the wire: why a job is where it is, why another waits and what would unblock it, and what
// would become of a job that is not there yet. One rule: `text` says in sentences what the fields
// say in data; neither says more than the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "api/job.hpp"
#include "base/error.hpp"

namespace tangram::api {

// A slot that could take the job, and what it would do to the GPU.
struct CandidateView {
  std::uint32_t gpu = 0;
  std::uint32_t start = 0;
  bool busy = false;  // of Lazy and Busy
  double frag_before = 0;
  double frag_after = 0;
};

// An instance that no job's end removes.
struct StandingView {
  std::string profile;
  std::uint32_t start = 0;
  std::string state;  // foreign, quarantined
};

// A GPU that has no slot for it.
struct ObstacleView {
  std::uint32_t gpu = 0;
  std::string why;  // "fragmented: …"; the words are those of core::NoCandidate
  std::vector<StandingView> standing = {};
};

struct RestraintView {
  std::string by;                      // as it is tuned: migration, window, cooldown, …
  std::optional<WallTime> until = {};  // if time ends it
};

struct MoveView {
  std::uint64_t job = 0;
  std::uint32_t from_gpu = 0;
  std::uint32_t from_start = 0;
  std::uint32_t to_gpu = 0;
  std::uint32_t to_start = 0;
  std::string user = {};                          // whose job it is
  bool may = false;                               // the caller may ask for it: it would be begun
  std::vector<RestraintView> restrained_by = {};  // the scheduler and owners; most_moves: everybody
};

// These moves, in this order, each asked for when the one before is over, and the slot is free.
struct RoomView {
  std::vector<MoveView> moves;
  std::uint32_t gpu = 0;
  std::uint32_t start = 0;
};

// Room that comes by itself: these jobs are being stopped or moved away.
struct RoomToComeView {
  std::vector<std::uint64_t> jobs;
  std::uint32_t gpu = 0;
  std::uint32_t start = 0;
};

// A move that was made, taken back, or is under way.
struct MovedView {
  std::string kind;  // intra-GPU, inter-GPU, drain, asked
  std::uint32_t from_gpu = 0;
  std::uint32_t from_start = 0;
  std::uint32_t to_gpu = 0;
  std::uint32_t to_start = 0;
  WallTime begun{};
  std::optional<WallTime> ended = {};
  std::string result = {};  // done, taken-over, rolled-back; empty: under way
  std::string reason = {};  // why it was taken back
  // Why it was made, as far as it can be told: how many moves were weighed, and the FragCost of the
  // GPU that the job left before and after it.
  std::optional<std::uint64_t> weighed = {};
  std::optional<double> frag_before = {};
  std::optional<double> frag_after = {};
};

// How far a job held at its user's limit is from being let into the queue, in compute slices.
struct LimitView {
  std::uint32_t has = 0;  // its user, without it
  std::uint32_t most = 0;
  std::uint32_t needs = 0;
  std::optional<std::uint64_t> behind = {};  // a job of the same user, held before it
};

// What an explanation and the answer to a what-if have in common.
struct Why {
  std::string profile;
  std::vector<std::string> text;          // sentences, the answer first
  std::vector<CandidateView> candidates;  // the winner first
  std::string decided_by;  // in what the winner beats the next one; empty: there was no other

  // Of one that waits, or would.
  std::vector<RoomView> rooms;  // fewest moves first
  // Jobs each of whose end alone would make room; of a job held at its user's limit: of its user's,
  // each of whose end alone would let it into the queue.
  std::vector<std::uint64_t> departures;
  std::optional<RoomToComeView> to_come;
  std::vector<std::uint64_t> pinned;  // of departures: those that are never moved
  std::vector<std::uint64_t> leases;  // of all numbers here: those that are leases
  std::vector<std::string> fits_now;  // profiles that would fit if nothing waited

  std::vector<ObstacleView> obstacles;  // GPUs without a candidate
};

struct Explanation : Why {
  std::uint64_t job = 0;
  JobState state = JobState::kQueued;

  // Of a job that has a place: the decision as it was made, and its moves, the oldest first.
  std::optional<std::uint64_t> step;  // of the journal
  std::optional<WallTime> decided;
  std::vector<MovedView> moves;

  // Of one that waits.
  std::vector<std::uint64_t> ahead;  // in the queue; of one that is held: if it were let go now
  std::optional<WallTime> retry;     // when a place that failed may be tried again
  std::optional<LimitView> limit;    // if that is what holds it
};

struct WhatIfQuestion {
  std::string profile;                          // or
  std::optional<std::uint64_t> gpu_memory_mib;  // the smallest profile that has so much
};

struct WhatIf : Why {
  bool starts_now = false;             // it would be placed at once
  std::string refused;                 // why its submission would be; empty: it would not
  std::string held;                    // why it would be held; empty: it would not
  std::uint32_t ahead = 0;             // jobs that wait before it
  std::optional<std::uint64_t> first;  // of them
};

[[nodiscard]] boost::json::value to_json(const Explanation& explanation);
[[nodiscard]] Result<Explanation> read_explanation(const boost::json::value& document);
[[nodiscard]] boost::json::value to_json(const WhatIf& what_if);
[[nodiscard]] Result<WhatIf> read_what_if(const boost::json::value& document);

}  // namespace tangram::api
