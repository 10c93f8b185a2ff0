// Starts a process of the run, the job itself or a probe, and says in words why one could not be
// started. One rule: the caller never waits; whether exec worked is told by a pipe it can poll.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>

#include "base/error.hpp"
#include "files/descriptor.hpp"
#include "shim/child.hpp"

namespace tangram::shim {

struct Child {
  pid_t pid = 0;
  files::Descriptor failures{-1};  // ends once the child runs its program or has ended
};

struct StartFailure {
  int code = 126;  // as shells have it: 127 no such program, 126 it cannot be started
  std::string reason;
};

[[nodiscard]] std::expected<Child, StartFailure> start(const Launch& launch);

// What the child said, once its pipe is readable or the child has ended. none: it was started.
[[nodiscard]] std::optional<StartFailure> read_failure(const Child& child, const Launch& launch);

struct Pipe {
  files::Descriptor read{-1};  // does not block
  files::Descriptor write{-1};
};
[[nodiscard]] Result<Pipe> make_pipe();
// One for output of the run; the job's user may open it again by name (/dev/stdout).
[[nodiscard]] Result<Pipe> make_output_pipe(const api::RunSpec& spec);

}  // namespace tangram::shim
