// Manual pages in roff (man(7)), made from the tree of verbs and options, so that they say what
// --help says. One rule: whatever stands in the tree is text; nothing in it can become a request.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.hpp"

namespace tangram::cli {

// The page of the program, or of one of its verbs.
[[nodiscard]] std::string program_page(const CLI::App& root);
[[nodiscard]] std::string verb_page(const CLI::App& root, const CLI::App& verb);

// Text as roff has it: hyphens that can be copied, no line that begins with a request, letters
// beyond ASCII by number.
[[nodiscard]] std::string roff_text(std::string_view text);

}  // namespace tangram::cli
