// Mover: how the work of a job gets from its original run to the replica of a move. ReplicaMover
// moves services, whose two runs exist side by side for a while; CheckpointMover moves batch jobs
// that save their state. A mover executes what the scheduler decides, and answers every request
// exactly once. Called on the event loop only.
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

  // The target instance exists: does what must be done before the replica is started. Calls
  // `prepared` once, never within the call. On an error the replica is not started and the job
  // stays where it is.
  virtual void prepare(const core::StartJob& replica, core::RunId original, Prepared prepared) = 0;
  // The replica is ready. Posts TrafficSwitched and, once the original has nothing left to do,
  // TrafficDrained; or ActionFailed.
  virtual void switch_traffic(const core::SwitchTraffic& action) = 0;
  // The move was rolled back and its replica is gone: the original continues.
  virtual void roll_back(core::JobId job, core::RunId original) = 0;
};

}  // namespace tangram::daemon
