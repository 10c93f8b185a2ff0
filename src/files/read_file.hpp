// A whole file as text, for files that people write. One rule: it never waits (a pipe or a device
// is refused) and never takes more memory than the caller allows.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace tangram::files {

// `what` names the file in messages: "model file".
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::string_view what,
                                            std::size_t largest_bytes);

}  // namespace tangram::files
