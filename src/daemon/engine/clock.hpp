// Clock: the scheduler's time. It advances with the machine's monotonic clock, so setting the wall
// clock neither repeats nor skips anything. It starts at local time, because windows of the day are
// configured in local time, and never goes back, not even across a restart of the daemon.
#pragma once

#include <chrono>

#include "api/job.hpp"
#include "base/instant.hpp"

namespace tangram::daemon {

class Clock {
 public:
  // Starts at local time, or at `last` (the time at which an earlier daemon stopped) if later.
  explicit Clock(Instant last);

  [[nodiscard]] Instant now() const;
  // For display and records; no decision may depend on it.
  [[nodiscard]] static api::WallTime wall();
  // Monotonic, including suspended time; cannot be set.
  [[nodiscard]] static std::chrono::microseconds since_boot();

 private:
  static Instant local_time();

  Instant origin_;
  std::chrono::microseconds started_;
};

}  // namespace tangram::daemon
