// Where the files that were built with this program lie: beside it in a build tree, in their proper
// folder where it is installed. One rule: what is found belongs to the program that runs; the
// environment is not asked.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace tangram::files {

// `built` is relative to the folder of the program, `installed` to the folder above it; the first
// that is there. The error names both.
[[nodiscard]] Result<std::string> find_installed(std::string_view built,
                                                 std::string_view installed);

// The emulated libnvidia-ml.so.1.
[[nodiscard]] Result<std::string> emulated_library();

}  // namespace tangram::files
