// How many files the daemon may have open. A shell gives a process 1024, for the sake of old
// programs that use select(); the connections of a few users alone can be more, and a daemon
// without descriptors can neither answer nor start anything. One rule: what is raised for the
// daemon is not raised for its jobs.
#pragma once

#include <cstdint>
#include <optional>

#include "api/job.hpp"

namespace tangram::daemon {

struct Descriptors {
  std::uint64_t most = 0;                   // that the daemon may have from now on
  std::optional<api::ResourceLimit> given;  // what it was started with, and its jobs get
};

// Raises the limit as far as the daemon could ever need, if the system lets it.
[[nodiscard]] Descriptors raise_descriptors();

}  // namespace tangram::daemon
