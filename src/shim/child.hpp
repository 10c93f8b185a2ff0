// The child between fork() and exec(): turns a copy of the shim into a process of the job.
// Privileges are dropped before anything that the user named is accessed, so the directory and the
// program are accessed with the user's rights and never with the shim's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/run_spec.hpp"
#include "shim/session_attributes.hpp"

namespace tangram::shim {

// Written by the child to its parent when a step failed.
enum class Step : int {
  kSession,
  kKeyring,
  kCgroup,
  kSessionLimits,
  kStreams,
  kUser,
  kPrivileges,
  kRelativeDirectory,
  kDirectory,
  kOutputFile,
  kUnknownLimit,
  kLimit,
  kExecute,
};
struct ChildFailure {
  Step step = Step::kExecute;
  int error = 0;
  unsigned limit = 0;  // kLimit, kUnknownLimit: index in spec.resource_limits
};

struct Launch {
  const api::RunSpec& spec;
  const std::vector<std::string>& command;     // the job's own, or the probe's
  int out = -1;                                // becomes standard output
  int err = -1;                                // becomes standard error
  const SessionAttributes* session = nullptr;  // of the PAM session; null: there is none
  // Whether to log attributes that could not be reset. False for probes, which would repeat it.
  bool logs_problems = false;
};

// The job must not inherit the shim's signal handling.
void reset_signals();

// Gives a helper process of the run, which is not part of it, the rights of the run's user, its
// umask and its directory, in a session of its own. nullopt: success.
[[nodiscard]] std::optional<ChildFailure> become_run_user(const api::RunSpec& spec);

// Never returns: executes the job, or writes a ChildFailure to `failures` and exits.
[[noreturn]] void become_job(const Launch& launch, int failures, int shim_pid);

}  // namespace tangram::shim
