// Explanations on the wire: why a job is placed where it is, why a job waits and what would unblock
// it, and what would happen to a job that is not submitted yet. `text` and the other fields contain
// the same information, as sentences and as data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "api/job.hpp"
#include "base/error.hpp"

namespace tangram::api {

// A slot that the job could use, and the effect on the GPU.
struct CandidateView {
  std::uint32_t gpu = 0;
  std::uint32_t start = 0;
  bool busy = false;  // the GPU is Busy, not Lazy
  double frag_before = 0;
  double frag_after = 0;
};

// An instance that does not go away when jobs end.
struct FixedInstanceView {
  std::string profile;
  std::uint32_t start = 0;
  std::string state;  // foreign, quarantined
};

// A GPU without a slot for the job.
struct ObstacleView {
  std::uint32_t gpu = 0;
  std::string why;  // e.g. "fragmented: …", starting with a name of core::NoCandidate
  std::vector<FixedInstanceView> standing = {};
};

// Why a wanted move is not made now.
struct RestraintView {
  std::string by;                      // a tuning setting: migration, window, cooldown, …
  std::optional<WallTime> until = {};  // nullopt unless it ends at a known time
};

// A move that would help the job to be placed.
struct ProposedMoveView {
  std::uint64_t job = 0;
  std::uint32_t from_gpu = 0;
  std::uint32_t from_start = 0;
  std::uint32_t to_gpu = 0;
  std::uint32_t to_start = 0;
  std::string user = {};  // the owner of the moved job
  bool may = false;       // the caller could request it, and it would start
  // What keeps the scheduler and the owner from making it; most_moves restrains everyone.
  std::vector<RestraintView> restrained_by = {};
};

// Moves that, made one after the other, free the slot.
struct UnblockingMoves {
  std::vector<ProposedMoveView> moves;
  std::uint32_t gpu = 0;
  std::uint32_t start = 0;
};

// A slot that becomes free without intervention: these jobs are being stopped or moved away.
struct PendingRoomView {
  std::vector<std::uint64_t> jobs;
  std::uint32_t gpu = 0;
  std::uint32_t start = 0;
};

// A move that was made, was rolled back, or is in progress.
struct MoveRecordView {
  std::string kind;  // intra-GPU, inter-GPU, drain, asked
  std::uint32_t from_gpu = 0;
  std::uint32_t from_start = 0;
  std::uint32_t to_gpu = 0;
  std::uint32_t to_start = 0;
  WallTime begun{};
  std::optional<WallTime> ended = {};
  std::string result = {};  // done, taken-over, rolled-back; empty: in progress
  std::string reason = {};  // why it was rolled back
  // Why it was made, if that can be reconstructed: the number of moves considered, and the FragCost
  // of the source GPU before and after.
  std::optional<std::uint64_t> weighed = {};
  std::optional<double> frag_before = {};
  std::optional<double> frag_after = {};
};

// The limit that a job is held at, in compute slices.
struct LimitView {
  std::uint32_t has = 0;                     // used by the other jobs of its user or group
  std::uint32_t most = 0;                    // the limit
  std::uint32_t needs = 0;                   // of this job
  std::optional<std::uint64_t> behind = {};  // a job of the same user or group, held before it
  std::string group = {};                    // whose limit it is; empty: the user's
};

// The common part of an explanation and of the answer to a what-if question.
struct ExplanationBase {
  std::string profile;
  std::vector<std::string> text;          // sentences; the first one is the answer
  std::vector<CandidateView> candidates;  // best first
  std::string
      decided_by;  // the criterion by which the first candidate won; empty: there is no other

  // For a job that waits or would wait.
  std::vector<UnblockingMoves> unblocking_moves;  // fewest moves first
  // Jobs each of which would unblock this one by ending: by freeing a slot or, if this job is held
  // at its user's limit, by falling below the limit (then jobs of the same user).
  std::vector<std::uint64_t> departures;
  std::optional<PendingRoomView> to_come;
  std::vector<std::uint64_t> pinned;  // those of `departures` that are never moved
  // Services whose moves would make room if they allowed moves; empty if moves of others do.
  std::vector<std::uint64_t> could_move;
  std::vector<std::uint64_t> leases;  // those of all IDs in here that are leases
  std::vector<std::string> fits_now;  // profiles that would fit if no job waited

  std::vector<ObstacleView> obstacles;  // GPUs without a candidate
};

struct Explanation : ExplanationBase {
  std::uint64_t job = 0;
  JobState state = JobState::kQueued;

  // For a placed job: the decision as it was made, and its moves, oldest first.
  std::optional<std::uint64_t> step;  // of the journal
  std::optional<WallTime> decided;
  std::vector<MoveRecordView> moves;

  // For a job that waits.
  std::vector<std::uint64_t> ahead;  // jobs ahead in the queue; of a held job: if released now
  std::optional<WallTime> retry;     // when a slot that failed may be tried again
  // When it starts if all jobs run to their time limits and nothing else happens, and after the end
  // of which job; nullopt if that cannot be known.
  std::optional<WallTime> expected_start;
  std::optional<std::uint64_t> expected_after;
  std::optional<LimitView> limit;  // set if the job is held at its user's limit
  DependencyList waits_for;        // the jobs that must end before it may start
};

struct WhatIfQuestion {
  std::string profile;                          // or
  std::optional<std::uint64_t> gpu_memory_mib;  // the smallest profile with at least this much
};

struct WhatIf : ExplanationBase {
  bool starts_now = false;             // it would be placed at once
  std::string refused;                 // why it would be rejected; empty: it would be accepted
  std::string held;                    // why it would be held; empty: it would not be
  std::uint32_t ahead = 0;             // number of jobs ahead in the queue
  std::optional<std::uint64_t> first;  // the first of them
};

[[nodiscard]] boost::json::value to_json(const Explanation& explanation);
[[nodiscard]] Result<Explanation> read_explanation(const boost::json::value& document);
[[nodiscard]] boost::json::value to_json(const WhatIf& what_if);
[[nodiscard]] Result<WhatIf> read_what_if(const boost::json::value& document);

}  // namespace tangram::api
