// See supervisor_options.hpp.
#include "daemon/process/supervisor_options.hpp"

namespace tangram::daemon {

SupervisorOptions supervisor_options(const Config& config, const Cgroups& cgroups) {
  SupervisorOptions options;
  options.cgroup = cgroups.folder;
  options.scope = cgroups.scope;
  if (cgroups.pids && config.pids_limit > 0) options.pids_limit = config.pids_limit;
  options.pam = config.pam;
  options.runs = config.state_dir + "/runs";
  options.checkpoints = config.state_dir + "/checkpoints";
  options.lost_found = config.state_dir + "/lost+found";
  options.grace = config.grace;
  options.start_time = config.start_time;
  options.log_bytes = config.log_bytes;
  options.log_files = config.log_files;
  options.first_port = config.first_port;
  options.last_port = config.last_port;
  return options;
}

}  // namespace tangram::daemon
