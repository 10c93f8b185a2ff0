// Event: the input of the scheduler: requests of users and operators, results of its own actions,
// observations of the hardware, the passing of time.
//
// The body (daemon or simulator) guarantees: every action is answered within a deadline that the
// body keeps; JobExited is sent when the last process of the run is gone; when a GPU is lost, the
// body ends the runs on it by itself. Answers about things that no longer exist may still arrive,
// and are ignored. An event is plain data, cheap to copy and to write to a journal.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "core/action.hpp"
#include "core/ids.hpp"
#include "core/job.hpp"
#include "core/node.hpp"
#include "core/policy.hpp"
#include "core/tuning.hpp"
#include "mig/model.hpp"

namespace tangram::core {

// Users.
struct JobSubmitted {
  JobSpec spec;
};
struct JobCancelled {
  JobId job;
};
struct JobHeld {  // only a waiting job can be held
  JobId job;
  HoldCause cause = kHoldUser;
};
struct JobReleased {
  JobId job;
  HoldCause cause = kHoldUser;  // from this cause only
};

// Answers to StartJob, SwitchTraffic, StopJob.
struct JobReady {
  JobId job;
  RunId run;
};
struct JobExited {
  JobId job;
  RunId run;
  bool success = false;
  bool node_fault = false;  // it failed through no fault of its own
};
struct TrafficSwitched {  // new traffic goes to this run
  JobId job;
  RunId run;
};
struct TrafficDrained {  // the run that was switched away from has finished what it had
  JobId job;
  RunId run;
  RunId to;  // where its traffic went; distinguishes this switch from an earlier one
};

// Answers to CreateInstance and DestroyInstance.
struct InstanceCreated {
  GpuId gpu;
  InstanceId instance;
};
struct InstanceDestroyed {  // if a job holds it: removed by another program; the body ends its run
  GpuId gpu;
  InstanceId instance;
};
// The answer "no" to any action; the fields that the action had are set.
struct ActionFailed {
  ActionKind kind = ActionKind::kCreateInstance;
  GpuId gpu;
  InstanceId instance;
  JobId job;
  RunId run;
};

// What was seen of the hardware.
struct GpuAdded {
  std::shared_ptr<const mig::Model> model;
  std::vector<mig::Placement> layout;  // static partitioning: made at once; a legal mig::Layout
};
struct GpuHealth {
  GpuId gpu;
  Health health = Health::kOk;
};
struct ForeignSeen {  // sent with every observation: ignored while we are making something there
  GpuId gpu;
  mig::Placement placement;
};
struct ForeignGone {
  GpuId gpu;
  mig::Placement placement;
};
struct InstanceQuarantined {  // an unknown process is in an idle instance
  GpuId gpu;
  InstanceId instance;
};
struct QuarantineEnded {  // it is gone
  GpuId gpu;
  InstanceId instance;
};

// Operators and time.
struct GpuCordoned {
  GpuId gpu;
};
struct GpuUncordoned {
  GpuId gpu;
};
struct GpuDrained {  // requested: cordon, and move its jobs elsewhere
  GpuId gpu;
};
struct MoveRequested {  // of a running job, by a user; see requested_move.hpp
  JobId job;
  bool anywhere = true;  // else to this place
  GpuId gpu = {};
  std::uint8_t start = 0;
  bool restrained = false;  // as the scheduler's own moves: not requested by an operator
};
struct TuningChanged {
  Tuning tuning;
  Policies policies;  // those that the tuning names; looked up by the body
};
struct WakeUp {};
// By a user or an operator: its run is stopped, and it is queued again in its order of submission.
// Only a starting or running batch job that does not move; else ignored.
struct JobRequeued {
  JobId job;
};

using Event = std::variant<JobSubmitted, JobCancelled, JobHeld, JobReleased, JobReady, JobExited,
                           TrafficSwitched, TrafficDrained, InstanceCreated, InstanceDestroyed,
                           ActionFailed, GpuAdded, GpuHealth, ForeignSeen, ForeignGone,
                           InstanceQuarantined, QuarantineEnded, GpuCordoned, GpuUncordoned,
                           GpuDrained, MoveRequested, TuningChanged, WakeUp, JobRequeued>;

}  // namespace tangram::core
