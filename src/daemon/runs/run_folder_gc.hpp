// Removes run folders and checkpoint folders that are no longer needed. A folder's name begins with
// the id of its run or job. A run whose shim is alive keeps its folder; a job keeps its checkpoints
// until the job itself is trimmed from the history.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/store.hpp"

namespace tangram::daemon {

// All functions block. Errors are logged.
[[nodiscard]] std::vector<std::string> list_folders(const std::string& parent);
[[nodiscard]] std::uint64_t id_in_name(const std::string& folder);
// Removes run folders, except those whose shim is alive.
void remove_run_folders(const std::vector<std::string>& folders);
// Removes the folders of all runs and jobs in `gone`.
void remove_trimmed(const std::string& runs, const std::string& checkpoints,
                    const store::RetentionResult& gone);

}  // namespace tangram::daemon
