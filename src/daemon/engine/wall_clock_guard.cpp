// See wall_clock_guard.hpp.
#include "daemon/engine/wall_clock_guard.hpp"

#include <spdlog/spdlog.h>

namespace tangram::daemon {

std::optional<api::WallTime> WallClockGuard::check(api::WallTime wall,
                                                   std::chrono::microseconds since_boot) {
  const std::chrono::microseconds boot = wall.time_since_epoch() - since_boot;
  if (boot_ && std::chrono::abs(boot - *boot_) > kMaxStep) {
    spdlog::warn("the wall clock was set by {} minutes: history is not deleted by age for 24 hours",
                 std::chrono::duration_cast<std::chrono::minutes>(boot - *boot_).count());
    trusted_after_ = since_boot + kDistrustTime;
  }
  boot_ = boot;
  if (trusted_after_ && since_boot < *trusted_after_) return std::nullopt;
  return wall;
}

}  // namespace tangram::daemon
