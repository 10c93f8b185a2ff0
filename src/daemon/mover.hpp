// Mover: how the work of a job gets from one run to the next when it is moved. There is one for
// services, which run twice for a while (ReplicaMover), and one for batch jobs that save their
// state (CheckpointMover); a way that needs nothing of the job would be a third. One rule: a mover
// decides nothing: the scheduler says what is to be done, and every question gets one answer, in
// its time.
#pragma once

#include <functional>

#include "base/error.hpp"
#include "core/action.hpp"
#include "core/ids.hpp"

namespace tangram::daemon {

class Mover {
 public:
  using Prepared = std::function<void(Result<void>)>;

  Mover() = default;
  virtual ~Mover() = default;
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;
  Mover(Mover&&) = delete;
  Mover& operator=(Mover&&) = delete;

  // The target instance is there: whatever must happen before the replica is started. An error:
  // it will not be, and the job stays where it is. Never answered within the call.
  virtual void prepare(const core::StartJob& replica, core::RunId original, Prepared prepared) = 0;
  // The replica is ready. Answered by TrafficSwitched and, once the original has nothing left to
  // do, TrafficDrained; or by ActionFailed.
  virtual void switch_over(const core::SwitchTraffic& wanted) = 0;
  // The move was rolled back and its replica is gone: the original goes on.
  virtual void take_back(core::JobId job, core::RunId original) = 0;
};

}  // namespace tangram::daemon
