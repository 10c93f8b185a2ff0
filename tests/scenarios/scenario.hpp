// Scenario: a text file that tells a story: input lines, and below each what followed. It can be
// read, and written, without reading C++. README.md beside this file lists the input lines. One
// rule: what a run gives is a whole file again, so that checking is comparing two texts and
// regenerating is writing one.
#pragma once

#include <filesystem>
#include <string>

#include "base/error.hpp"

namespace tangram::scenario {

// The text with everything below its input lines replaced by what follows now. `name` is only for
// errors: "name:line: reason".
[[nodiscard]] Result<std::string> replay(const std::string& name, const std::string& text);

[[nodiscard]] Result<std::string> read_text(const std::filesystem::path& file);

// For people: the first line in which two texts differ; empty if they are equal.
[[nodiscard]] std::string first_difference(const std::string& expected, const std::string& actual);

}  // namespace tangram::scenario
