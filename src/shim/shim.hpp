// The shim: the small parent process of one run of a job. It outlives the daemon, starts the job
// once and never again, keeps its logs, ends it with everything it forked, and writes down how it
// ended. One rule: nothing is started before the folder says that it was.
#pragma once

#include <string>

#include "shim/run_folder.hpp"

namespace tangram::shim {

struct Options {
  std::string folder;
  int ready_fd = -1;  // -1: none
};

// From the arguments to the end of the run, in this process.
[[nodiscard]] ShimExit run_shim(const Options& options);

}  // namespace tangram::shim
