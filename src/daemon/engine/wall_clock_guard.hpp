// WallClockGuard: decides whether the wall clock may be used to delete old history. If the clock
// was set wrong, even for a minute, all history would look old, and deleting it cannot be undone.
// So after a large step the wall clock is distrusted for a day of the monotonic clock.
#pragma once

#include <chrono>
#include <optional>

#include "api/job.hpp"

namespace tangram::daemon {

class WallClockGuard {
 public:
  static constexpr std::chrono::minutes kMaxStep{60};  // smaller steps are ignored
  static constexpr std::chrono::hours kDistrustTime{24};

  // Call about once a minute with both clocks. Returns `wall`; nullopt while it is distrusted.
  [[nodiscard]] std::optional<api::WallTime> check(api::WallTime wall,
                                                   std::chrono::microseconds since_boot);

 private:
  std::optional<std::chrono::microseconds> boot_;           // wall time of the boot
  std::optional<std::chrono::microseconds> trusted_after_;  // since boot
};

}  // namespace tangram::daemon
