// See calendar.hpp.
#include "daemon/calendar.hpp"

#include <spdlog/spdlog.h>

namespace tangram::daemon {

std::optional<api::WallTime> Calendar::look(api::WallTime wall,
                                            std::chrono::microseconds since_boot) {
  const std::chrono::microseconds boot = wall.time_since_epoch() - since_boot;
  if (boot_ && std::chrono::abs(boot - *boot_) > kStep) {
    spdlog::warn(
        "the wall clock was set by {} minutes; nothing is forgotten for its age until tomorrow",
        std::chrono::duration_cast<std::chrono::minutes>(boot - *boot_).count());
    believed_again_ = since_boot + kDoubt;
  }
  boot_ = boot;
  if (believed_again_ && since_boot < *believed_again_) return std::nullopt;
  return wall;
}

}  // namespace tangram::daemon
