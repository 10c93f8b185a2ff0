// Starts a child process of the run: the job itself or a probe. The caller never blocks: whether
// exec() succeeded is reported by a pipe that it can poll.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>

#include "base/error.hpp"
#include "os/descriptor.hpp"
#include "shim/child.hpp"

namespace tangram::shim {

struct Child {
  pid_t pid = 0;
  os::Descriptor failures{-1};  // end of stream: exec() succeeded or the child has ended
};

struct StartFailure {
  int code = 126;  // as in shells: 127 no such program, 126 it cannot be started
  std::string reason;
};

[[nodiscard]] std::expected<Child, StartFailure> start_child(const Launch& launch);

// Why the child failed, once its pipe is readable or the child has ended; nullopt: exec()
// succeeded.
[[nodiscard]] std::optional<StartFailure> read_failure(const Child& child, const Launch& launch);

// Why the file of an output could not be opened, for the job's user.
[[nodiscard]] std::string output_failure_text(const ChildFailure& failure, const api::RunSpec& spec,
                                              const std::string& path);

struct Pipe {
  os::Descriptor read{-1};  // does not block
  os::Descriptor write{-1};
};
[[nodiscard]] Result<Pipe> make_pipe();
// A pipe for output of the run. The job's user may reopen it by name (/dev/stdout).
[[nodiscard]] Result<Pipe> make_output_pipe(const api::RunSpec& spec);

}  // namespace tangram::shim
