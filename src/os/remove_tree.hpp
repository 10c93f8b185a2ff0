// Removes a folder with everything below it, even if the user who owns it changes it meanwhile to
// prevent that. Needs a fixed number of descriptors and no recursion, however deep the tree is.
// Symbolic links are removed, not followed; other file systems and mount points are not entered.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include "base/error.hpp"

namespace tangram::os {

struct RemoveLimits {
  std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();
  const std::atomic<bool>* cancelled = nullptr;  // may be set by another thread; null: never
};

// Blocks. Run by root, it acts with the file-system rights of the folder's owner (setfsuid(2)), of
// this thread only; just the empty folder itself is removed by the caller. A folder that does not
// exist is no error, a symbolic link in its place is one. Returns false if the limits ended it
// early: a later call continues. An error names the first thing that cannot be removed; what can
// be removed is.
[[nodiscard]] Result<bool> remove_tree(const std::string& path, const RemoveLimits& limits = {});

}  // namespace tangram::os
