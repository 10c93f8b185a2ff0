// What the scheduler answered to one event, as the journal keeps it: one line of transcript per
// action. Daemon and replay share it. One rule: the text is a function of the actions alone, so
// that two texts differ only where decisions do.
#pragma once

#include <span>
#include <string>

#include "core/action.hpp"
#include "core/node.hpp"

namespace tangram::store {

[[nodiscard]] std::string decisions_text(const core::Node& node,
                                         std::span<const core::Action> actions);

}  // namespace tangram::store
