// Where a job was and is: its runs, each with the move that led there and that move's result.
#pragma once

#include <string>
#include <vector>

#include "api/job.hpp"
#include "store/store.hpp"

namespace tangram::daemon {

inline constexpr std::size_t kMaxLocations = store::kMaxRunsKept;  // the newest are kept

// Oldest first. `may_read`: include what the job itself reported, for its owner and admins.
[[nodiscard]] std::vector<api::RunRecord> locations_of(const std::vector<store::RunRow>& runs,
                                                       const std::vector<store::MoveRow>& moves,
                                                       bool may_read);

}  // namespace tangram::daemon
