// Calendar: whether the wall clock may say what is old. A clock that was set wrong for a minute
// would have all of history thrown away, and setting it right brings nothing back. One rule: after
// a step it is not believed for a day, counted by the machine's own clock.
#pragma once

#include <chrono>
#include <optional>

#include "api/job.hpp"

namespace tangram::daemon {

class Calendar {
 public:
  static constexpr std::chrono::minutes kStep{60};  // less is daily life
  static constexpr std::chrono::hours kDoubt{24};

  // The time of the wall, unless it is in doubt. Asked every minute or so.
  [[nodiscard]] std::optional<api::WallTime> look(api::WallTime wall,
                                                  std::chrono::microseconds since_boot);

 private:
  std::optional<std::chrono::microseconds> boot_;            // the moment of the boot, by the wall
  std::optional<std::chrono::microseconds> believed_again_;  // since boot
};

}  // namespace tangram::daemon
