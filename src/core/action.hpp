// Action: what the scheduler wants done, and what it reports. The body performs the first six kinds
// and answers each with an event; reports need no answer. An action is self-contained: performing
// it needs no access to the scheduler's state.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "base/instant.hpp"
#include "core/ids.hpp"
#include "core/job.hpp"
#include "mig/model.hpp"

namespace tangram::core {

enum class ActionKind : std::uint8_t {
  kCreateInstance,
  kDestroyInstance,
  kStartJob,
  kSwitchTraffic,
  kStopJob,
};

struct CreateInstance {  // → InstanceCreated
  GpuId gpu;
  InstanceId instance;
  mig::Placement placement;
};
struct DestroyInstance {  // → InstanceDestroyed
  GpuId gpu;
  InstanceId instance;
};
// → JobReady, or JobExited, or ActionFailed: it could not start, through no fault of the job, and
// is gone. For a lease: hand the instance out.
struct StartJob {
  JobId job;
  RunId run;
  GpuId gpu;
  InstanceId instance;
  bool replica = false;  // of a job that is running elsewhere
};
struct SwitchTraffic {  // → TrafficSwitched, later TrafficDrained
  JobId job;
  RunId from;  // kNoRun: it is gone already
  RunId to;
};
struct StopJob {  // → JobExited
  JobId job;
  RunId run;
};
struct WakeAt {  // → WakeUp; only the latest one counts
  Instant when;
};

// What became of a job.
enum class JobNews : std::uint8_t {
  kRefusedProfile,    // no GPU of the node could ever serve its profile
  kRefusedDuplicate,  // there is a job of that id
  kQueued,
  kHeld,
  kPlaced,
  kRunning,
  kRequeued,      // by its restart policy, or because its place failed
  kFinished,      // over: exited with success
  kFailed,        // over: exited with failure
  kCancelled,     // over
  kCreateFailed,  // over: no instance could be made for it
  kLost,          // its GPU was lost; kRequeued or kFailed follows
  kStopStuck,     // cannot be stopped; it keeps its slices until it is gone
  kSwitchStuck,   // traffic could not be switched back to it
};
struct JobReport {
  JobId job;
  JobNews news = JobNews::kQueued;
};

enum class MoveNews : std::uint8_t { kBegun, kDone, kRolledBack, kTakenOver };
struct MoveReport {
  JobId job;
  MoveKind kind = MoveKind::kIntra;
  MoveNews news = MoveNews::kBegun;
  GpuId from;
  GpuId to;
  std::uint8_t start = 0;
};

enum class GpuNews : std::uint8_t { kQuarantined, kQuarantineEnded, kDrained, kLayoutIncomplete };
struct GpuReport {
  GpuId gpu;
  GpuNews news = GpuNews::kQuarantined;
  mig::Placement placement;  // of the instance concerned, if any
};

using Action = std::variant<CreateInstance, DestroyInstance, StartJob, SwitchTraffic, StopJob,
                            WakeAt, JobReport, MoveReport, GpuReport>;
using Actions = std::vector<Action>;

}  // namespace tangram::core
