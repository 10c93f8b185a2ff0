// The processes of a foreign control group: that of a batch system's job which holds a lease.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"

namespace tangram::daemon {

// The mount point of control groups: /sys/fs/cgroup, or TANGRAM_CGROUP_ROOT (for tests).
[[nodiscard]] std::string cgroup_root();

// The sorted pids in the group and in all groups below it; none if the group does not exist.
[[nodiscard]] Result<std::vector<unsigned>> processes_in_cgroup(const std::string& folder);

}  // namespace tangram::daemon
