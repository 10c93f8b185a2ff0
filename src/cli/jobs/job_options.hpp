// The options that describe a job, shared by `tangram submit` and `tangram run`, and the request
// made from them. Values are validated with the same code as in the daemon before anything is sent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/job.hpp"
#include "base/error.hpp"
#include "cli/command/verbs.hpp"

namespace tangram::cli {

struct JobOptions {
  std::string profile, gpu_memory, gpu_model, name, kind, probe, probe_interval, probe_timeout,
      probe_deadline;
  std::string endpoint, host, drain, move, move_signal, move_deadline;
  std::string grace, restart, time_limit, memory, array, output, error, directory, umask, env_file;
  std::optional<int> port, max_restarts, priority;
  std::optional<double> cpus;
  std::vector<std::string> labels, env, rlimits, endpoint_options, after;
  std::vector<std::string> command;  // for the help only: see Command::trailing
  bool service = false;
  bool forwarded = false;
  bool pin = false;
  bool stateless = false;
  bool clean_env = false;
  bool hold = false;
  bool requeue = false;
};

void add_job_options(Verb& verb, JobOptions& options);
// `command`: the words of the job's command. Errors name the option.
[[nodiscard]] Result<api::JobRequest> job_request(const JobOptions& options,
                                                  const std::vector<std::string>& command);

}  // namespace tangram::cli
