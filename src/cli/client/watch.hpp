// -w, --watch: repeats a verb until it is interrupted. On a terminal the output is redrawn in
// place; otherwise it is appended.
#pragma once

#include "base/error.hpp"
#include "cli/command/verbs.hpp"

namespace tangram::cli {

void add_watch_option(Verb& verb, Command& command);

// Runs the command every `command.watch` until SIGINT or SIGTERM. If the daemon becomes unreachable
// the error is shown and the command repeated; any other error ends it.
[[nodiscard]] Result<void> watch(const Command& command);

}  // namespace tangram::cli
