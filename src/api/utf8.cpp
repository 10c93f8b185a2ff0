// See utf8.hpp.
#include "api/utf8.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace tangram::api {
namespace {

// Length of a code point that starts with this byte; 0 if none does.
std::size_t code_point_length(unsigned char first) {
  if (first < 0x80U) return 1;
  if ((first >> 5U) == 0x06U) return 2;
  if ((first >> 4U) == 0x0eU) return 3;
  if ((first >> 3U) == 0x1eU) return 4;
  return 0;
}

// Removes the first code point and returns it; nullopt if the bytes are not valid UTF-8.
std::optional<std::uint32_t> pop_code_point(std::string_view& text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(0);
  const std::size_t length = code_point_length(first);
  if (length == 0 || text.size() < length) return std::nullopt;
  std::uint32_t point = length == 1 ? first : first & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return std::nullopt;
    point = point << 6U | (byte(i) & 0x3fU);
  }
  constexpr std::uint32_t kLowest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (point < kLowest[length] || point > 0x10ffff) return std::nullopt;
  if (point >= 0xd800 && point <= 0xdfff) return std::nullopt;
  text.remove_prefix(length);
  return point;
}

bool is_control_or_bidi(std::uint32_t point) {
  const auto in = [point](std::uint32_t from, std::uint32_t to) {
    return point >= from && point <= to;
  };
  return point < 0x20 || in(0x7f, 0x9f) || in(0x200e, 0x200f) || in(0x2028, 0x202e) ||
         in(0x2066, 0x2069) || point == 0xfeff;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    if (!pop_code_point(text)) return false;
  }
  return true;
}

bool is_printable_text(std::string_view text) {
  while (!text.empty()) {
    const auto point = pop_code_point(text);
    if (!point || is_control_or_bidi(*point)) return false;
  }
  return true;
}

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

}  // namespace tangram::api
