// The scheduler's answer to one event as text for the journal: one line of transcript per action.
// It depends on the actions only, so that replay can compare decisions by comparing texts.
#pragma once

#include <span>
#include <string>

#include "core/action.hpp"
#include "core/node.hpp"

namespace tangram::store {

[[nodiscard]] std::string decisions_text(const core::Node& node,
                                         std::span<const core::Action> actions);

}  // namespace tangram::store
