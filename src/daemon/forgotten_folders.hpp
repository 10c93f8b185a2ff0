// The folders of runs and of jobs' checkpoints that nobody needs any more. Their names begin with
// the number of whose they are. One rule: a run whose shim lives keeps its folder, and a job that
// is not forgotten its checkpoints, however many of its runs are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/store.hpp"

namespace tangram::daemon {

// All of these block.
[[nodiscard]] std::vector<std::string> folders_below(const std::string& below);
[[nodiscard]] std::uint64_t number_of(const std::string& folder);
// Of runs.
void remove_dead(const std::vector<std::string>& folders);
void remove_forgotten(const std::string& runs, const std::string& checkpoints,
                      const store::Trimmed& gone);

}  // namespace tangram::daemon
