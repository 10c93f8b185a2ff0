// Records the end of a run. The time is that of its shim, however late the daemon reads or commits
// it. How long the run held its instance is measured by the clock since boot, which cannot be set.
#pragma once

#include <optional>

#include "store/store.hpp"

namespace tangram::daemon {

// The clocks of this machine now.
[[nodiscard]] store::ClockReading read_clocks();

// Marks the run as ended. `ended`: when it did; nullopt: at `now`.
void end_run(store::RunRow& run, std::optional<store::WallTime> ended,
             const store::ClockReading& now);

}  // namespace tangram::daemon
