// What the PAM session of a run gives to its processes, beside variables and groups.
#pragma once

#include <map>
#include <string>

#include "api/job.hpp"

namespace tangram::shim {

struct SessionAttributes {
  // Resource limits by name, e.g. "nofile", set before those that the job requests and with the
  // shim's rights: they may exceed those of the daemon.
  std::map<std::string, api::ResourceLimit> limits;
  int niceness = 0;
};

}  // namespace tangram::shim
