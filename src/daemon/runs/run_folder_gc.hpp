// Removes run folders and checkpoint folders that are no longer needed. A folder's name is the id
// of its run or job and a time: ID-MICROSECONDS. A run whose shim is alive keeps its folder; a job
// keeps its checkpoints until the job itself is trimmed from the history.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/store.hpp"

namespace tangram::daemon {

struct FolderName {
  std::uint64_t id = 0;
  std::uint64_t time = 0;  // microseconds since the epoch
};
// nullopt unless the name is exactly ID-TIME, two numbers as the daemon writes them.
[[nodiscard]] std::optional<FolderName> parse_folder_name(std::string_view name);
// The same for the last part of a path.
[[nodiscard]] std::optional<FolderName> name_of_folder(const std::string& path);

// All functions below block. Errors are logged. `cancelled`: ends the removal early; may be set by
// another thread.

// The paths of everything in the folder.
[[nodiscard]] std::vector<std::string> list_folders(const std::string& parent);
// Removes one folder, with the rights of its owner and within a bounded time.
void remove_folder(const std::string& folder, const std::atomic<bool>& cancelled);
// Removes the folders of all runs and jobs in `gone`, except those of runs whose shim is alive.
void remove_trimmed(const std::string& runs, const std::string& checkpoints,
                    const store::RetentionResult& gone, const std::atomic<bool>& cancelled);

}  // namespace tangram::daemon
