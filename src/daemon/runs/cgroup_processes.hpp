// Lists the processes in the cgroup of another scheduler's job (e.g. Slurm's) that holds a lease.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"

namespace tangram::daemon {

// The mount point of cgroups: /sys/fs/cgroup, or TANGRAM_CGROUP_ROOT (for tests).
[[nodiscard]] std::string cgroup_root();

// The sorted pids in the group and in all groups below it; none if the group does not exist.
[[nodiscard]] Result<std::vector<unsigned>> processes_in_cgroup(const std::string& folder);

}  // namespace tangram::daemon
