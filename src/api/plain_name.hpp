// Names that users give to what they ask for: keys of leases, names of tokens. One rule: they can
// be shown on a terminal as they are.
#pragma once

#include <string>
#include <string_view>

#include "api/fields.hpp"
#include "api/words.hpp"

namespace tangram::api {

inline constexpr std::size_t kLongestPlainName = 255;  // characters

[[nodiscard]] inline bool is_plain_name(std::string_view text) {
  return is_plain_text(text) && characters_of(text) <= kLongestPlainName;
}

[[nodiscard]] inline std::string plain_name_in(Fields& fields, std::string_view key) {
  std::string name = fields.text(key, 4 * kLongestPlainName);
  if (is_plain_name(name)) return name;
  fields.mistake(key, "must have at most 255 printable characters.");
  return "";
}

}  // namespace tangram::api
