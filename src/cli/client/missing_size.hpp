// The error of submit, run and lease without --profile and --gpu-memory.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"

namespace tangram::cli {

// `command`: the words of the user's command. If the size is among them, the error says where
// Tangram's own options end.
[[nodiscard]] Error missing_size(const std::vector<std::string>& command);

}  // namespace tangram::cli
