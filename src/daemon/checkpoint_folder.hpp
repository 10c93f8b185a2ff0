// The folder of a job's checkpoints, which all its runs share and only its user may enter: made
// before the first of them, removed when history forgets the job. One rule: what is in it is the
// user's, so nothing there is followed, and only the two files that jobs announce with mean
// anything.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace tangram::daemon {

inline constexpr const char* kSavedFile = "saved";
inline constexpr const char* kResumedFile = "resumed";

// All of these block.
[[nodiscard]] Result<void> make_checkpoint_folder(const std::string& folder, std::uint32_t uid,
                                                  std::uint32_t gid);
// Whether there is anything in it to go on from.
[[nodiscard]] Result<bool> has_checkpoint(const std::string& folder);
// The job may go on: it need not wait for its end any longer.
void withdraw_saved(const std::string& folder);

void remove_checkpoints(const std::vector<std::string>& folders);

}  // namespace tangram::daemon
