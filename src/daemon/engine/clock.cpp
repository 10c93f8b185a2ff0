// See clock.hpp.
#include "daemon/engine/clock.hpp"

#include <algorithm>
#include <ctime>

namespace tangram::daemon {

Clock::Clock(Instant last) : origin_(std::max(last, local_time())), started_(since_boot()) {}

Instant Clock::now() const { return origin_ + (since_boot() - started_); }

api::WallTime Clock::wall() {
  return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

std::chrono::microseconds Clock::since_boot() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::duration_cast<std::chrono::microseconds>(
                                                std::chrono::nanoseconds(now.tv_nsec));
}

Instant Clock::local_time() {
  const auto wall = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(wall);
  tm local{};
  localtime_r(&seconds, &local);
  return Instant(std::chrono::duration_cast<Duration>(wall.time_since_epoch()) +
                 std::chrono::seconds(local.tm_gmtoff));
}

}  // namespace tangram::daemon
