// The cgroup (v2) of a run: holds the run's processes, limits them, and freezes and kills them as
// one. A requested limit that cannot be set is an error; it is never ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "api/run_spec.hpp"
#include "base/error.hpp"

namespace tangram::shim {

// Creates spec.cgroup and sets the requested limits. Does nothing if the run has no cgroup, which
// is an error if it has limits.
[[nodiscard]] Result<void> make_cgroup(const api::RunSpec& spec);

// The processes in the cgroup and those below it; none if it does not exist. An error: that could
// not be read.
[[nodiscard]] Result<std::vector<pid_t>> cgroup_members(const std::string& path);

// Kills all its processes at once; false if the kernel has no cgroup.kill.
bool kill_cgroup(const std::string& path);

[[nodiscard]] Result<void> freeze_cgroup(const std::string& path, bool frozen);
// Freezing is asynchronous; this returns whether it is complete.
[[nodiscard]] bool is_cgroup_frozen(const std::string& path);

// How many of its processes the OOM killer has killed.
[[nodiscard]] std::uint64_t cgroup_oom_kills(const std::string& path);

// Removes the cgroup and those below it; false while it has processes.
bool remove_cgroup(const std::string& path);

}  // namespace tangram::shim
