// Text for error messages without a formatting library, so that the pure rooms stay free of
// third-party code. One rule: only what messages need; tables for people are made by the CLI.
#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tangram {

inline void append_text(std::string& out, std::string_view part) { out += part; }
inline void append_text(std::string& out, char part) { out += part; }
void append_text(std::string& out, std::integral auto part) { out += std::to_string(part); }

// cat("start ", 3, " is taken"): the parts one after another.
template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (append_text(out, parts), ...);
  return out;
}

// "0, 2 and 4"; "none" for an empty list.
std::string join_words(std::span<const std::string> words);

// The candidate that a user who typed `word` most likely meant, if any is close enough.
std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string> candidates);

// Every byte but printable ASCII as \xNN, so that it can do nothing to a terminal.
std::string printable(std::string_view input);

// User input made safe to print: quoted, all but printable ASCII escaped, cut to a sane length.
std::string quoted(std::string_view input);

// A whole decimal number of the range and nothing else ("+1", " 1", "007", "1x", "" are none).
std::optional<int> parse_int(std::string_view text, int lowest, int highest);

}  // namespace tangram
