// Starts the program of a hook. Blocks until it is executed, which may take long on a file system
// that hangs, so it is called off the event loop.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include "base/error.hpp"

namespace tangram::daemon {

struct HookProgram {
  std::vector<std::string> command;
  std::vector<std::string> environment;  // NAME=VALUE, complete
  std::string input;
};

// Returns its process, the leader of a session of its own. Its directory is /, its standard error
// is the daemon's, its standard output is discarded.
[[nodiscard]] Result<pid_t> spawn_hook(const HookProgram& program);

}  // namespace tangram::daemon
