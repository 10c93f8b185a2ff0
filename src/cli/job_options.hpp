// The options that describe a job, which `tangram submit` and `tangram run` share, and the request
// they make. One rule: what is typed is checked here as the daemon would, before anything is sent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/job.hpp"
#include "base/error.hpp"
#include "cli/verbs.hpp"

namespace tangram::cli {

struct JobOptions {
  std::string profile, gpu_memory, name, kind, probe, probe_interval, probe_timeout, probe_deadline;
  std::string endpoint, host, drain, move, move_signal, move_deadline;
  std::string grace, restart, time_limit, memory, directory, umask, env_file;
  std::optional<int> port, max_restarts;
  std::optional<double> cpus;
  std::vector<std::string> labels, env, rlimits, endpoint_options, command;
  bool service = false;
  bool forwarded = false;
  bool pin = false;
  bool clean_env = false;
  bool hold = false;
};

void add_job_options(Verb& verb, JobOptions& options);
[[nodiscard]] Result<api::JobRequest> job_request(const JobOptions& options,
                                                  const std::vector<std::string>& trailing);

}  // namespace tangram::cli
