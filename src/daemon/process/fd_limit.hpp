// The daemon's limit of open files (RLIMIT_NOFILE). Shells give a process 1024, for old programs
// that use select(); the connections of a few users can exceed that, and without descriptors the
// daemon can neither answer nor start anything. The limit of its jobs is not raised.
#pragma once

#include <cstdint>
#include <optional>

#include "api/job.hpp"

namespace tangram::daemon {

struct FdLimit {
  std::uint64_t current = 0;                    // of the daemon, after raising it
  std::optional<api::ResourceLimit> inherited;  // that the daemon was started with; its jobs get it
};

// Raises the soft limit as far as the daemon could need and the hard limit allows.
[[nodiscard]] FdLimit raise_fd_limit();

}  // namespace tangram::daemon
