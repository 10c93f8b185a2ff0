// Files that are still there after a power failure. One rule: what was reported as written is on
// the disk; only a name needs its folder synced as well.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace tangram::files {

// A file of mode 0600; one that is there is overwritten, a link is not followed.
[[nodiscard]] Result<void> write_durably(const std::string& path, std::string_view text);

// The same under another name first: who reads meanwhile finds the old one or the new one.
[[nodiscard]] Result<void> replace_durably(const std::string& path, std::string_view text);

// The names in the folder.
[[nodiscard]] Result<void> sync_folder(const std::string& path);
// The names in the folder, and its own.
[[nodiscard]] Result<void> sync_with_parent(const std::string& folder);

}  // namespace tangram::files
