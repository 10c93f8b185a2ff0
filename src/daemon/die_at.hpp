// A death on demand, for tests of recovery: the process kills itself at a named point of its work,
// as the environment variable TANGRAM_DIE_AT says ("committed:job-ready", "performed:stop-job").
// One rule: without the variable it is nothing.
#pragma once

#include <string_view>

#include "core/action.hpp"
#include "core/event.hpp"

namespace tangram::daemon {

// An event was stepped and is not committed; is on the disk, and nothing of it performed.
void die_if_stepped(const core::Event& event);
void die_if_committed(const core::Event& event);
// An action was performed, or at least begun.
void die_if_performed(const core::Action& action);
// A step of what follows from one; from any thread.
void die_if_performed(std::string_view step);

}  // namespace tangram::daemon
