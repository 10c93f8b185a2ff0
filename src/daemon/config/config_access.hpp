// Reads what the configuration allows users. Private to the configuration.
#pragma once

#include "daemon/config/config.hpp"
#include "daemon/config/section.hpp"

namespace tangram::daemon {

void read_access(const Section& in, Config& config);
// The time limits of [jobs].
void read_time_limits(const Section& in, UserLimits& limits);

}  // namespace tangram::daemon
