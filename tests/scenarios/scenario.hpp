// Scenario: a text file with input lines, each followed by the resulting events and actions.
// README.md in this folder lists the input lines. A run produces the whole file again, so that
// checking is comparing two texts, and regenerating is writing one.
#pragma once

#include <filesystem>
#include <string>

#include "base/error.hpp"

namespace tangram::scenario {

// Returns the text with the results below its input lines replaced by the current ones. `name`: for
// errors, "name:line: reason".
[[nodiscard]] Result<std::string> replay(const std::string& name, const std::string& text);

[[nodiscard]] Result<std::string> read_text(const std::filesystem::path& file);

// Describes the first line in which two texts differ; empty if they are equal.
[[nodiscard]] std::string first_difference(const std::string& expected, const std::string& actual);

}  // namespace tangram::scenario
