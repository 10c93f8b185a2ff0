// The completion scripts of the shells, by name: bash, zsh, fish.
#pragma once

#include <string_view>

namespace tangram::cli {

[[nodiscard]] std::string_view completion_script(std::string_view shell);

}  // namespace tangram::cli
