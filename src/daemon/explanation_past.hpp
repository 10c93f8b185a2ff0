// Decisions of the past, made again from the journal: why a job was placed where it was, and why it
// was moved since. One rule: done by the Reader, with its own Store; what cannot be told any more
// is an error or left open, never guessed.
#pragma once

#include <cstdint>

#include "api/explanation.hpp"
#include "base/error.hpp"
#include "store/store.hpp"

namespace tangram::daemon {

// The decision of the step that gave the job its place, with what it was decided by.
[[nodiscard]] Result<void> decide_again(store::Store& store, std::uint64_t job,
                                        api::Explanation& to);
// The job's moves, all that are kept; the last that came to a good end with its reason.
void add_moves(store::Store& store, api::Explanation& to);

}  // namespace tangram::daemon
