// How the end of a run is recorded. When it ended is what its shim noted, however late the daemon
// reads or commits that. How long it held its instance is counted by the clock that cannot be set.
#pragma once

#include <optional>

#include "store/store.hpp"

namespace tangram::daemon {

// The clocks of this machine now.
[[nodiscard]] store::ClockReading read_clocks();

// Marks the run as over. `ended`: nullopt for `now`.
void end_run(store::RunRow& run, std::optional<store::WallTime> ended,
             const store::ClockReading& now);

}  // namespace tangram::daemon
