// Finds the cgroup v2 folder in which each run gets a cgroup. With a cgroup every process of a run
// is found and killed for certain, and with the controllers cpu, memory and pids the run can be
// limited. The folder is created to find out whether that is permitted.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"

namespace tangram::daemon {

class SystemdScope;

// Which limits the subgroups of a cgroup can have.
struct Controllers {
  bool cpu = false;
  bool memory = false;
  bool pids = false;
};

struct Cgroups {
  std::string folder = {};   // parent of the runs' groups; empty: none can be created
  bool cpu = false;          // the CPU time of runs can be limited
  bool memory = false;       // their memory can be limited
  bool pids = false;         // their number of processes can be limited
  std::string why_not = {};  // what is missing and why, for people
  std::shared_ptr<SystemdScope> scope = {};  // which has `folder`; null: none
};

// `setting`: the key jobs.cgroup, "auto", "off" or a folder; an unusable folder is an error.
// `node`: the node's name, part of the folder's name. `shim`: path of tangram-shim. A service of
// systemd gets a scope ("auto"). Without one (no D-Bus, not root), runs get subgroups of the unit's
// cgroup that have no controllers, because with them systemd could not restart the unit.
[[nodiscard]] Result<Cgroups> find_cgroups(const std::string& setting, const std::string& node,
                                           const std::string& shim);

// Where cgroup v2 is mounted; nullopt if it is not.
[[nodiscard]] std::optional<std::string> cgroup2_mount_point();

// Enables the controllers for the subgroups of a cgroup as far as possible. Enables none if the
// cgroup has processes: the kernel refuses memory then, and with cpu alone accepts no processes in
// the subgroups any more.
[[nodiscard]] Controllers enable_controllers(const std::string& folder);

}  // namespace tangram::daemon
