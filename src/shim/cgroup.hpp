// The cgroup of a run (v2): a folder of the kernel that holds the run's processes, limits them and
// acts on them as one. One rule: a limit that was asked for and cannot be set is an error; it is
// never left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "api/run_spec.hpp"
#include "base/error.hpp"

namespace tangram::shim {

// Makes spec.cgroup and sets the limits asked for. Does nothing if the run has no cgroup, which is
// an error if it has limits.
[[nodiscard]] Result<void> make_cgroup(const api::RunSpec& spec);

// The processes in it and in the cgroups below it; none if it does not exist.
[[nodiscard]] std::vector<pid_t> cgroup_members(const std::string& path);

// SIGKILL to all of it at once; false where the kernel has no cgroup.kill.
bool kill_cgroup(const std::string& path);

[[nodiscard]] Result<void> freeze_cgroup(const std::string& path, bool frozen);
// Freezing takes a moment; this tells when it is done.
[[nodiscard]] bool is_cgroup_frozen(const std::string& path);

// How many of its processes the kernel killed because memory ran out.
[[nodiscard]] std::uint64_t cgroup_oom_kills(const std::string& path);

// With those below it; false while something lives in it.
bool remove_cgroup(const std::string& path);

}  // namespace tangram::shim
