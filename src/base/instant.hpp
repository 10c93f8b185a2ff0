// Instant: a point in time as the scheduler sees it: microseconds since an origin that the body
// around it (daemon or simulator) chooses. One rule: this clock has no now(); time enters the
// pure rooms only as an argument.
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
