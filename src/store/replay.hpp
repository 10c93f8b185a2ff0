// Replay: feeds the journal to a new scheduler, starting from the oldest snapshot. Every step must
// give the recorded decisions, and the final state must equal the stored one. Used to reproduce
// bugs and to verify that tables and journal agree. Does not modify the store.
#pragma once

#include <cstdint>

#include "base/error.hpp"
#include "core/scheduler.hpp"
#include "store/store.hpp"

namespace tangram::store {

struct ReplayResult {
  std::uint64_t first = 0;  // first step replayed; 0: the journal is empty
  std::uint64_t last = 0;
  std::uint64_t steps = 0;
};

// Fails at the first step that differs, with both texts in the message.
[[nodiscard]] Result<ReplayResult> replay(Store& store);

// Returns the scheduler as it was before that step. Fails if the journal does not reach back that
// far or replay differs from it.
[[nodiscard]] Result<core::Scheduler> replay_to(Store& store, std::uint64_t sequence);

}  // namespace tangram::store
