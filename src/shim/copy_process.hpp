// The process that copies output of a run to a file of its user. It has the user's rights before it
// opens the file, so neither the daemon nor the shim ever opens a path that a user named, and a
// file system that hangs stops only this process. It outlives the job's processes until it has
// written what they wrote.
#pragma once

#include <cstdint>
#include <string>

#include "api/run_spec.hpp"
#include "base/error.hpp"
#include "shim/child.hpp"
#include "shim/helper_process.hpp"

namespace tangram::shim {

// What the process reports, in this order; the stream ends when it has ended.
struct CopyStatus {
  enum class Kind : int {
    kStarted,      // pid
    kReady,        // the file is open
    kNotOpened,    // failure
    kWriteFailed,  // failure.error; nothing more is written
    kLost,         // bytes: at the end, what was not written
  };
  Kind kind = Kind::kStarted;
  int pid = 0;
  std::uint64_t bytes = 0;
  ChildFailure failure = {};
};

// Starts it. `path`: relative to the run's directory; the file is created if necessary, and
// appended to. What is written to its input is copied; its status is a stream of CopyStatus.
[[nodiscard]] Result<HelperProcess> start_copy_process(const api::RunSpec& spec,
                                                       const std::string& path);

}  // namespace tangram::shim
