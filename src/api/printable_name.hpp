// Names that users choose: keys of leases, names of tokens. They can be printed on a terminal
// without escaping.
#pragma once

#include <string>
#include <string_view>

#include "api/fields.hpp"
#include "api/utf8.hpp"

namespace tangram::api {

inline constexpr std::size_t kMaxPrintableName = 255;  // characters

[[nodiscard]] inline bool is_printable_name(std::string_view text) {
  return is_printable_text(text) && count_characters(text) <= kMaxPrintableName;
}

[[nodiscard]] inline std::string printable_name_in(Fields& fields, std::string_view key) {
  std::string name = fields.text(key, 4 * kMaxPrintableName);
  if (is_printable_name(name)) return name;
  fields.add_error(key, "must have at most 255 printable characters");
  return "";
}

}  // namespace tangram::api
