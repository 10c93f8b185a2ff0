// Durable writes: on success, the contents have been fsynced. That a new name survives a power
// failure needs sync_folder() as well.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace tangram::os {

// Writes a file of mode 0600, overwriting an existing one; fails on a symbolic link.
[[nodiscard]] Result<void> write_durably(const std::string& path, std::string_view text);

// Writes PATH.new and renames it, so that concurrent readers see the old or the new contents.
[[nodiscard]] Result<void> replace_durably(const std::string& path, std::string_view text);

// Makes the directory entries in the folder durable.
[[nodiscard]] Result<void> sync_folder(const std::string& path);
// Makes the entries in the folder durable, and the folder's own entry in its parent.
[[nodiscard]] Result<void> sync_with_parent(const std::string& folder);

}  // namespace tangram::os
