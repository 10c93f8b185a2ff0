// The Supervisor's options that follow from the configuration and from the cgroups of runs.
#pragma once

#include "daemon/config/config.hpp"
#include "daemon/runs/cgroups.hpp"
#include "daemon/runs/supervisor.hpp"

namespace tangram::daemon {

// Leaves out what is set once at the start: shim, node, emulated, descriptors.
[[nodiscard]] SupervisorOptions supervisor_options(const Config& config, const Cgroups& cgroups);

}  // namespace tangram::daemon
