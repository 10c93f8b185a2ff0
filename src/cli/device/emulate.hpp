// What the `tangram emulate` verbs share.
#pragma once

#include "cli/command/verbs.hpp"
#include "cli/device/emulated_library.hpp"

namespace tangram::cli {

// Adds --node and --state.
void add_emulated_node(Verb& verb, EmulatedNode& node);
void add_emulate_fault(Verb& emulate, Command& command);

}  // namespace tangram::cli
