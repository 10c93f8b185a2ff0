// See run_end.hpp.
#include "daemon/engine/run_end.hpp"

#include <algorithm>
#include <chrono>

#include "daemon/engine/clock.hpp"
#include "os/boot_id.hpp"

namespace tangram::daemon {

store::ClockReading read_clocks() {
  static const std::string boot = os::boot_id();
  return {.wall = Clock::wall(), .since_boot = Clock::since_boot(), .boot = boot};
}

void end_run(store::RunRow& run, std::optional<store::WallTime> ended,
             const store::ClockReading& now) {
  run.over = true;
  run.ended = ended.value_or(now.wall);
  if (!run.asked_since_boot || run.boot != now.boot) return;
  const auto elapsed =
      std::max(now.since_boot - *run.asked_since_boot, std::chrono::microseconds(0));
  // The daemon may have been down when the run ended. A wall clock that was set between the two
  // can make this wrong, but never more than the time that has really passed.
  const std::chrono::microseconds since_end = now.wall - *run.ended;
  const bool is_possible = since_end.count() >= 0 && since_end <= elapsed;
  run.held = is_possible ? elapsed - since_end : elapsed;
}

}  // namespace tangram::daemon
