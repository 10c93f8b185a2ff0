// The shim: the small parent process of one run of a job. It outlives the daemon, starts the job at
// most once, writes its logs, ends it with all processes that it forked, and records how it ended.
// The run is recorded as started before the job is started.
#pragma once

#include "os/start_arguments.hpp"
#include "shim/run_folder.hpp"

namespace tangram::shim {

// Executes the whole run in this process and returns the exit status of the shim.
[[nodiscard]] ShimExit run_shim(const os::StartArguments& arguments);

}  // namespace tangram::shim
