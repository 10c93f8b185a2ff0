// Replay: the journal fed to a scheduler once more, from where it begins. It must decide as was
// written down, step by step, and end in the state that the tables have; so a bug of the field can
// be watched, and tables and journal vouch for each other. One rule: it changes nothing.
#pragma once

#include <cstdint>

#include "base/error.hpp"
#include "core/scheduler.hpp"
#include "store/store.hpp"

namespace tangram::store {

struct Replayed {
  std::uint64_t first = 0;  // step; 0: the journal is empty
  std::uint64_t last = 0;
  std::uint64_t steps = 0;
};

// The error names the first step that differs, with both texts.
[[nodiscard]] Result<Replayed> replay(Store& store);

// The scheduler as it was before that step. An error: the journal does not go back so far, or it
// decides otherwise than was written down.
[[nodiscard]] Result<core::Scheduler> replay_to(Store& store, std::uint64_t sequence);

}  // namespace tangram::store
