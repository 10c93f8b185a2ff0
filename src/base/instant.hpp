// Instant: a point in time of the scheduler: microseconds since an origin that its caller (daemon
// or simulator) chooses. The clock has no now(): pure modules get time only as an argument.
#pragma once

#include <chrono>
#include <cstdint>

namespace tangram {

struct SchedulerClock {
  using rep = std::int64_t;
  using period = std::micro;
  using duration = std::chrono::duration<rep, period>;
  using time_point = std::chrono::time_point<SchedulerClock>;
  static constexpr bool is_steady = true;
};

using Duration = SchedulerClock::duration;
using Instant = SchedulerClock::time_point;

}  // namespace tangram
