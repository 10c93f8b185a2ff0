// The shim: the small parent process of one run of a job. It outlives the daemon, starts the job
// once and never again, keeps its logs, ends it with everything it forked, and writes down how it
// ended. One rule: nothing is started before the folder says that it was.
#pragma once

#include "files/start_arguments.hpp"
#include "shim/run_folder.hpp"

namespace tangram::shim {

// From the arguments to the end of the run, in this process.
[[nodiscard]] ShimExit run_shim(const files::StartArguments& arguments);

}  // namespace tangram::shim
