// Where the control groups (v2) of jobs may be made, if anywhere. A group lets everything that a
// job forked be found and ended for certain; with the controllers for it, also limited. One rule:
// it is tried, not guessed: a folder that could be made counts, nothing else.
#pragma once

#include <string>

#include "base/error.hpp"

namespace tangram::daemon {

struct Cgroups {
  std::string folder = {};  // for the jobs' own; empty: none can be made
  bool cpu = false;         // limits can be set
  bool memory = false;
  std::string why_not = {};  // what is missing, for people
};

// `setting` is jobs.cgroup: auto, off or a folder, which must work then.
[[nodiscard]] Result<Cgroups> find_cgroups(const std::string& setting, const std::string& node);

}  // namespace tangram::daemon
