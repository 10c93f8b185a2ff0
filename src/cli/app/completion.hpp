// Completion scripts for bash, zsh and fish.
#pragma once

#include <string_view>

namespace tangram::cli {

// `shell`: "bash", "zsh" or "fish".
[[nodiscard]] std::string_view completion_script(std::string_view shell);

}  // namespace tangram::cli
