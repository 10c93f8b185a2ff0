// -w, --watch: a verb's answer again and again, until it is interrupted. One rule: on a terminal it
// stays in place; anywhere else the answers follow each other.
#pragma once

#include "base/error.hpp"
#include "cli/verbs.hpp"

namespace tangram::cli {

void add_watch_option(Verb& verb, Command& command);

// Runs the command every `command.watch` until SIGINT or SIGTERM. A daemon that goes away is said
// and waited for; any other error ends it.
[[nodiscard]] Result<void> watch(const Command& command);

}  // namespace tangram::cli
