// Crash points, for tests of recovery: the process kills itself (SIGKILL) at the point named by the
// environment variable TANGRAM_CRASH_POINT, e.g. "committed:job-ready" or "performed:stop-job".
// Without the variable these functions do nothing.
#pragma once

#include <string_view>

#include "core/action.hpp"
#include "core/event.hpp"

namespace tangram::daemon {

// After `event` was stepped and before it is committed; after it is durable and before any of its
// actions is executed.
void crash_after_step(const core::Event& event);
void crash_after_commit(const core::Event& event);
// After `action` was executed or at least started.
void crash_after_action(const core::Action& action);
// After a named step of an action; may be called from any thread.
void crash_after_action(std::string_view step);

}  // namespace tangram::daemon
