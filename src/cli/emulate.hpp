// What the `tangram emulate` verbs share. One rule: every verb takes the node from the same
// options.
#pragma once

#include "cli/emulated_library.hpp"
#include "cli/verbs.hpp"

namespace tangram::cli {

// --node and --state.
void add_emulated_node(Verb& verb, EmulatedNode& node);
void add_emulate_fault(Verb& emulate, Command& command);

}  // namespace tangram::cli
