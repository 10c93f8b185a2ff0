// The processes of a control group that is not ours: a batch system's, of a job that holds a lease.
// One rule: it only looks; what is not there has no processes.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"

namespace tangram::daemon {

// Where control groups lie: /sys/fs/cgroup, or, for tests, what TANGRAM_CGROUP_ROOT says.
[[nodiscard]] std::string cgroup_root();

// Those in the group and in all groups below it.
[[nodiscard]] Result<std::vector<unsigned>> processes_in_cgroup(const std::string& folder);

}  // namespace tangram::daemon
