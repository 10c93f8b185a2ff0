// Clock: the time that the scheduler is told. It runs with the machine's monotonic clock, so that
// nothing happens twice or never when somebody sets the wall clock; it begins at the local time of
// the day the daemon was started in, because windows of the day are meant in local time. One rule:
// it never goes back, not even over a restart of the daemon.
#pragma once

#include <chrono>

#include "api/job.hpp"
#include "base/instant.hpp"

namespace tangram::daemon {

class Clock {
 public:
  // Not before `last`, the time at which an earlier daemon stopped.
  explicit Clock(Instant last);

  [[nodiscard]] Instant now() const;
  // For people and records only; nothing is decided by it.
  [[nodiscard]] static api::WallTime wall();
  // Of the machine, suspended time included; nobody can set it.
  [[nodiscard]] static std::chrono::microseconds since_boot();

 private:
  static Instant local_time();

  Instant origin_;
  std::chrono::microseconds begun_;
};

}  // namespace tangram::daemon
