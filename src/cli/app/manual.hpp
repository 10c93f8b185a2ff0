// Manual pages in roff (man(7)), generated from the tree of verbs and options, so that they match
// --help. All text is escaped: none of it can be read as a roff request.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command/command_line.hpp"

namespace tangram::cli {

// The page of the program, and the page of one verb with its subcommands as sections.
[[nodiscard]] std::string program_page(const CLI::App& root);
[[nodiscard]] std::string verb_page(const CLI::App& root, const CLI::App& verb);

// Escapes text for roff: hyphens stay ASCII hyphens, a leading "." or "'" is protected, and
// characters beyond ASCII are written by code point.
[[nodiscard]] std::string roff_text(std::string_view text);

}  // namespace tangram::cli
