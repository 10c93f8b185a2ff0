// Processes that help the shim with a run without being part of it: neither children of the shim
// nor in the run's cgroup, so they are not killed with the job's processes. Each has one pipe from
// the shim and one to it, and ends soon after the shim has closed its end or has died.
#pragma once

#include <functional>

#include "base/error.hpp"
#include "os/descriptor.hpp"

namespace tangram::shim {

// In the process: what the shim writes, and what it reads. No other descriptor is open but the
// standard streams, which are /dev/null.
inline constexpr int kHelperInput = 3;
inline constexpr int kHelperStatus = 4;

struct HelperProcess {
  os::Descriptor input{-1};   // does not block
  os::Descriptor status{-1};  // does not block
};

// Starts a process that calls `main` and exits. Called before the shim becomes a subreaper, which
// would make the process its child.
[[nodiscard]] Result<HelperProcess> start_helper_process(const std::function<void()>& main);

}  // namespace tangram::shim
