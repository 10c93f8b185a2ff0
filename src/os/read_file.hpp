// Reads a whole file that users supply. Never blocks (pipes and devices are rejected) and reads at
// most the given number of bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace tangram::os {

// `what`: the kind of file for messages, e.g. "model file".
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::string_view what,
                                            std::size_t largest_bytes);

}  // namespace tangram::os
