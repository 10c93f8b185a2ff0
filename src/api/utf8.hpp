// Validation of UTF-8 text that users supply.
#pragma once

#include <cstddef>
#include <string_view>

namespace tangram::api {

[[nodiscard]] bool is_utf8(std::string_view text);
// Whether the text is UTF-8 and safe to print on a terminal: no control characters (including line
// ends) and no bidirectional formatting characters.
[[nodiscard]] bool is_printable_text(std::string_view text);
// The number of code points; `text` must be UTF-8.
[[nodiscard]] std::size_t count_characters(std::string_view text);

}  // namespace tangram::api
