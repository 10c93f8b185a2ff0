// The checkpoint folder of a job. All runs of the job share it; only the job's user may enter it.
// It is created before the first run and removed when the job is trimmed from the history. Its
// content is controlled by the user: symbolic links in it are never followed, and the daemon
// uses only the two marker files in it (checkpoint_files.hpp).
#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"

namespace tangram::daemon {

// All functions block, for as long as a file system that the user mounted there likes: only the
// threads of CheckpointFiles call them.
[[nodiscard]] Result<void> make_checkpoint_folder(const std::string& folder, std::uint32_t uid,
                                                  std::uint32_t gid);
// Whether it contains anything but the marker files.
[[nodiscard]] Result<bool> has_checkpoint(const std::string& folder);

}  // namespace tangram::daemon
