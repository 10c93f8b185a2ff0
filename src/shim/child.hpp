// The child between fork and exec: everything that turns a copy of the shim into a process of the
// job. One rule: rights are given up before anything that the user named is touched, so a folder or
// a program is reached with the user's rights and never with the shim's.
#pragma once

#include <string>
#include <vector>

#include "api/run_spec.hpp"

namespace tangram::shim {

// What the child tells its parent when it could not become the job.
enum class Step : int {
  kSession,
  kCgroup,
  kStreams,
  kUser,
  kPrivileges,
  kRelativeDirectory,
  kDirectory,
  kUnknownLimit,
  kLimit,
  kExecute,
};
struct ChildFailure {
  Step step = Step::kExecute;
  int error = 0;
  unsigned limit = 0;  // kLimit: which one, in the order of the map
};

struct Launch {
  const api::RunSpec& spec;
  const std::vector<std::string>& command;  // the job's own, or the probe's
  int out;                                  // become standard output and error
  int err;
};

// Never returns: the process is the job, or has written a ChildFailure to `failures` and ended.
[[noreturn]] void become_job(const Launch& launch, int failures, int shim_pid);

}  // namespace tangram::shim
