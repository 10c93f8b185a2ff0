// Where a job was and is: its runs, each with the move that led there. One rule: it is made from
// what is recorded, and says of a move what became of it.
#pragma once

#include <string>
#include <vector>

#include "api/job.hpp"
#include "store/store.hpp"

namespace tangram::daemon {

inline constexpr std::size_t kMostPlaces = store::kMostPlacesKept;  // the newest

// Runs and moves as the store has them; `may_read`: whoever asks may know what the job said.
[[nodiscard]] std::vector<api::Place> places_of(const std::vector<store::RunRow>& runs,
                                                const std::vector<store::MoveRow>& moves,
                                                bool may_read);

}  // namespace tangram::daemon
