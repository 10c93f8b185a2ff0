// See words.hpp.
#include "api/words.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/text.hpp"

namespace tangram::api {
namespace {

// One code point taken from the front, or none if the bytes are not UTF-8.
std::optional<std::uint32_t> take_code_point(std::string_view& text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80U            ? 1
                             : (first >> 5U) == 0x06U ? 2
                             : (first >> 4U) == 0x0eU ? 3
                             : (first >> 3U) == 0x1eU ? 4
                                                      : 0;
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

bool does_something(std::uint32_t point) {
  const auto in = [point](std::uint32_t from, std::uint32_t to) {
    return point >= from && point <= to;
  };
  return point < 0x20 || in(0x7f, 0x9f) || in(0x200e, 0x200f) || in(0x2028, 0x202e) ||
         in(0x2066, 0x2069) || point == 0xfeff;
}

}  // namespace

std::optional<std::size_t> find_word(std::string_view word,
                                     std::span<const std::string_view> words) {
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) return std::nullopt;
  return static_cast<std::size_t>(found - words.begin());
}

std::string unknown_word(std::string_view word, std::span<const std::string_view> words) {
  const std::vector<std::string> all(words.begin(), words.end());
  const auto near = nearest(word, all);
  return cat("unknown word ", quoted(word), near ? cat("; did you mean ", quoted(*near), "?") : ".",
             " The words are ", join_words(all), ".");
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    if (!take_code_point(text)) return false;
  }
  return true;
}

bool is_plain_text(std::string_view text) {
  while (!text.empty()) {
    const auto point = take_code_point(text);
    if (!point || does_something(*point)) return false;
  }
  return true;
}

std::size_t characters_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

}  // namespace tangram::api
