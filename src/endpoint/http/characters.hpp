// Character classes and case-insensitive comparison of HTTP (RFC 9110). ASCII bytes only.
#pragma once

#include <algorithm>
#include <string_view>

namespace tangram::endpoint {

[[nodiscard]] constexpr bool is_blank(char byte) { return byte == ' ' || byte == '\t'; }

// Whether the byte is allowed in a field value: no control character except tab.
[[nodiscard]] constexpr bool is_text(char byte) {
  const auto code = static_cast<unsigned char>(byte);
  return byte == '\t' || (code >= 0x20 && code != 0x7f);
}

[[nodiscard]] constexpr bool is_token(char byte) {
  const auto code = static_cast<unsigned char>(byte);
  return code > 0x20 && code < 0x7f &&
         std::string_view("\"(),/:;<=>?@[\\]{}").find(byte) == std::string_view::npos;
}

[[nodiscard]] constexpr char lower(char byte) {
  return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
}

// Case-insensitive equality, for field names and tokens.
[[nodiscard]] constexpr bool is_same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower(x) == lower(y); });
}

[[nodiscard]] constexpr std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace tangram::endpoint
