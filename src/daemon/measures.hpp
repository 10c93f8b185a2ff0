// Measures: where the engine tells how long things took and what was done, for whoever counts. One
// rule: who is told must be quick and must not change anything.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>

#include "core/action.hpp"
#include "core/event.hpp"
#include "store/store.hpp"

namespace tangram::daemon {

// Each may be empty.
struct Measures {
  std::function<void(const core::Event&, std::chrono::nanoseconds)> stepped;
  std::function<void(std::chrono::nanoseconds, bool on_disk)> stored;  // one batch
  std::function<void(const core::Action&)> performed;                  // it is on the disk
  std::function<void(const store::MoveRow&)> moved;                    // it is over, and how
};

}  // namespace tangram::daemon
