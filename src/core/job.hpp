// A job as the scheduler knows it: what was requested (JobSpec) and its state (Job). What the job
// runs (command, user, environment) is known to the body only. A job is in one slot or in one move;
// the rest follows from its phase.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.hpp"
#include "core/ids.hpp"

namespace tangram::core {

enum class JobKind : std::uint8_t {
  kBatch,    // runs to its end
  kService,  // serves until it is cancelled
  kLease,    // an instance for a process that someone else starts
};

enum class Restart : std::uint8_t {
  kNever,
  kOnFailure,
  kAlways,
  kOnNodeFault,  // only after a failure that was not the job's: its GPU, instance or shim was lost
};

struct JobSpec {
  JobId id;
  std::string profile;
  JobKind kind = JobKind::kService;
  bool movable = true;  // false: pinned, or there is no way to replicate it; leases never move
  Restart restart = Restart::kNever;
  std::uint16_t max_restarts = 3;           // after failures in a row
  bool held = false;                        // from the beginning, until it is released
  bool over_limit = false;                  // from the beginning: its user is at a limit
  bool dependent = false;                   // from the beginning: waits for other jobs to end
  bool array_full = false;                  // from the beginning: enough tasks of its array active
  std::int16_t priority = 0;                // higher is sooner, in queues that have priorities
  std::uint32_t user = 0;                   // whose use of the node it counts as, for fair share
  std::optional<Duration> time_limit = {};  // enforced by the body; nullopt: none
  Duration stop_grace = {};                 // between the request to stop and the kill
  std::string gpu_model = {};               // only on GPUs of this model; empty: on any
};

enum class JobPhase : std::uint8_t {
  kHeld,      // outside the queue until the cause ends; its submission order is kept
  kQueued,    // waits for a place
  kPlaced,    // has a place; its instance is being made
  kStarting,  // its process (or lease) is being started
  kRunning,   // ready
  kStopping,  // being stopped; holds its slices until its last process has ended
};

// Why a job is held; several causes can hold at once.
enum HoldCause : std::uint8_t {
  kHoldUser = 1,        // by its user
  kHoldUnservable = 2,  // no GPU in service has its profile
  // Released by the body:
  kHoldLimit = 4,       // its user is at a limit
  kHoldDependency = 8,  // it waits for other jobs to end
  kHoldArray = 16,      // as many tasks of its array are active as may be
};
inline constexpr std::uint8_t kAllHolds = 31;

// A slot that failed this job recently; no candidate for it until then.
struct BackOff {
  GpuId gpu;
  std::uint8_t start = 0;
  std::uint8_t failures = 0;  // doubles the next time span
  Instant until{};

  friend bool operator==(const BackOff&, const BackOff&) = default;
};

// One replica: the instance it is on and the run that is (or will be) there.
struct Replica {
  GpuId gpu;
  InstanceId instance = kNoInstance;
  RunId run = kNoRun;  // kNoRun: not started yet
  bool ready = false;
  bool stopping = false;  // being stopped

  friend bool operator==(const Replica&, const Replica&) = default;
};

enum class MoveKind : std::uint8_t {
  kIntra,
  kInter,
  kDrain,
  kRequested,  // by hand
};

enum class MovePhase : std::uint8_t {
  kNone,
  kCreating,     // the target instance is being made
  kStarting,     // the replica is being started
  kSwitching,    // new traffic is being sent to the replica
  kDraining,     // the original finishes what it has; the point of commitment is behind
  kStopping,     // the original is being stopped
  kRollingBack,  // the replica is being removed; the job stays where it was
};

// Where a waiting job starts at the latest, and when; earlier if it can.
struct Reservation {
  GpuId gpu;
  std::uint8_t start = 0;
  Instant time{};

  friend bool operator==(const Reservation&, const Reservation&) = default;
};

struct Job {
  JobId id;
  std::uint64_t order = 0;  // of submission
  ProfileName profile;
  JobKind kind = JobKind::kService;
  JobPhase phase = JobPhase::kQueued;
  bool allowed_to_move = true;
  bool cancelled = false;
  bool ending = false;     // over once the last replica is gone
  bool failed = false;     // what "over" will say
  bool requeued = false;   // queued again once its run has ended
  std::uint8_t holds = 0;  // HoldCause bits
  Restart restart = Restart::kNever;
  std::uint16_t restarts = 0;
  std::uint16_t max_restarts = 0;
  std::uint8_t create_failures = 0;
  std::int16_t priority = 0;  // these five: as in JobSpec
  std::uint32_t user = 0;
  std::optional<Duration> time_limit;
  Duration stop_grace{};
  std::string gpu_model;

  Replica main;     // where the job is
  Replica replica;  // where a move takes it
  MoveKind move_kind = MoveKind::kIntra;
  MovePhase move = MovePhase::kNone;
  std::uint8_t replica_start = 0;  // where the move goes on its GPU
  Instant cooldown_until{};
  std::vector<BackOff> back_offs;  // mostly empty

  // In queues with backfill; else as they are here.
  Instant submitted{};                      // or when the queue became one with backfill
  std::optional<Instant> ends;              // by when it has left its place, if it has a time limit
  std::uint8_t counted_slices = 0;          // memory slices that count as used by its user
  std::uint32_t passed = 0;                 // how many jobs have passed it while it was a head
  std::optional<Reservation> reservation;   // of a waiting job
  std::optional<Instant> lost_reservation;  // the time of one that a fault has ended

  JobSlot queue_before = kNoJob;  // neighbours in the queue
  JobSlot queue_after = kNoJob;

  [[nodiscard]] bool moving() const { return move != MovePhase::kNone; }
  // Whether the replica is the job already, so that its end is the job's: the original is being
  // stopped, or it is a batch job, whose work the ready replica has continued.
  [[nodiscard]] bool replica_is_job() const {
    const bool is_ready = move == MovePhase::kSwitching || move == MovePhase::kDraining;
    return move == MovePhase::kStopping || (kind == JobKind::kBatch && is_ready);
  }

  friend bool operator==(const Job&, const Job&) = default;
};

}  // namespace tangram::core
