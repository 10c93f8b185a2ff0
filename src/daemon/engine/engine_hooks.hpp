// EngineHooks: callbacks with which metrics observe the engine. Called on the loop; a hook must be
// quick and must not change anything.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>

#include "core/action.hpp"
#include "core/event.hpp"
#include "store/store.hpp"

namespace tangram::daemon {

// Each may be empty.
struct EngineHooks {
  std::function<void(const core::Event&, std::chrono::nanoseconds)> on_step;
  // After each attempt to make a batch durable; `succeeded`: committed and synced.
  std::function<void(std::chrono::nanoseconds, bool succeeded)> on_commit;
  std::function<void(const core::Action&)> on_action;  // durable, about to be executed
  std::function<void(const store::MoveRow&)> on_move_ended;
};

}  // namespace tangram::daemon
