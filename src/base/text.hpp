// Text utilities for error messages and input parsing, without a formatting library, so that pure
// modules depend on the standard library only.
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

// Concatenates its arguments: cat("start ", 3, " is taken").
template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (append_text(out, parts), ...);
  return out;
}

// "0, 2 and 4"; "none" for an empty list.
std::string join_words(std::span<const std::string> words);

// The candidate that is most similar to `word`, for "did you mean" hints; nullopt if none is close.
std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string> candidates);

// Escapes every byte except printable ASCII as \xNN, so that it is safe to print on a terminal.
std::string printable(std::string_view input);

// User input for messages: in quotes, escaped as by printable(), cut to 60 bytes. A function
// object, because argument-dependent lookup would find std::quoted for the function
// quoted(a_string).
struct Quoted {
  std::string operator()(std::string_view input) const;
};
inline constexpr Quoted quoted{};  // NOLINT(readability-identifier-naming): called as a function

// Parses a decimal integer in the range, strictly: "+1", " 1", "007", "1x" and "" give nullopt.
std::optional<int> parse_int(std::string_view text, int lowest, int highest);

}  // namespace tangram
