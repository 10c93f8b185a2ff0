// Past decisions, replayed from the journal: why a job was placed where it was, and why it was
// moved since. Runs on the HistoryReader's thread, with its store. What can no longer be determined
// is an error or left empty.
#pragma once

#include <cstdint>

#include "api/explanation.hpp"
#include "base/error.hpp"
#include "store/store.hpp"

namespace tangram::daemon {

// Adds the decision of the step that placed the job and its criterion. An error: the journal no
// longer has it.
[[nodiscard]] Result<void> replay_placement(store::Store& store, std::uint64_t job,
                                            api::Explanation& to);
// Adds the job's recorded moves; for the last successful one also its reason, if the journal has
// it.
void add_moves(store::Store& store, api::Explanation& to);

}  // namespace tangram::daemon
