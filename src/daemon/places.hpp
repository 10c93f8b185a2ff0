// Where a job was and is: its runs, each with the move that led there. One rule: it is made from
// what is recorded, and says of a move what became of it.
#pragma once

#include <vector>

#include "api/job.hpp"
#include "store/store.hpp"

namespace tangram::daemon {

inline constexpr std::size_t kMostPlaces = 100;  // the newest

// Runs in their order, moves by when they began, as the store has them.
[[nodiscard]] std::vector<api::Place> places_of(const std::vector<store::RunRow>& runs,
                                                const std::vector<store::MoveRow>& moves);

}  // namespace tangram::daemon
