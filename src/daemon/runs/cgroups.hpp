// Finds the cgroup v2 folder in which runs get control groups. A control group makes it certain
// that every process of a run is found and killed, and with the controllers cpu and memory it can
// be limited. The result is based on trying, not on guessing: the folder is created.
#pragma once

#include <string>

#include "base/error.hpp"

namespace tangram::daemon {

struct Cgroups {
  std::string folder = {};   // parent of the runs' groups; empty: none can be created
  bool cpu = false;          // the CPU time of runs can be limited
  bool memory = false;       // their memory can be limited
  std::string why_not = {};  // what is missing and why, for people
};

// `setting`: the key jobs.cgroup, "auto", "off" or a folder; an unusable folder is an error.
// `node`: the node's name, part of the folder's name.
[[nodiscard]] Result<Cgroups> find_cgroups(const std::string& setting, const std::string& node);

}  // namespace tangram::daemon
