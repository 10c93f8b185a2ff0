// Finds files that were built together with the running program: beside it in a build tree, or in
// their installed location. Environment variables are not used, so that the files always match the
// program.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace tangram::os {

// Returns the first that exists: `built`, relative to the folder of the program, or `installed`,
// relative to the folder above. The error names both paths.
[[nodiscard]] Result<std::string> find_installed(std::string_view built,
                                                 std::string_view installed);

// The path of the emulated libnvidia-ml.so.1.
[[nodiscard]] Result<std::string> emulated_library();

}  // namespace tangram::os
