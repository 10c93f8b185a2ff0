// See text.hpp.
#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace tangram {
namespace {

constexpr std::size_t kLongestQuote = 60;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Levenshtein distance, ignoring case.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t change = diagonal + (lower(a[i]) == lower(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string join_words(std::span<const std::string> words) {
  if (words.empty()) return "none";
  std::string out = words.front();
  for (std::size_t i = 1; i < words.size(); ++i) {
    out += i + 1 == words.size() ? " and " : ", ";
    out += words[i];
  }
  return out;
}

std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string> candidates) {
  constexpr std::size_t kLongestWord = 64;
  if (word.empty() || word.size() > kLongestWord) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t best_distance = word.size() / 3 + 2;  // a larger distance is unlikely to be a typo
  for (const std::string& candidate : candidates) {
    const bool is_prefix =
        edit_distance(word, std::string_view(candidate).substr(0, word.size())) == 0;
    std::size_t distance = edit_distance(word, candidate);
    if (is_prefix) distance = std::min(distance, std::size_t{1});
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string printable(std::string_view input) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (const char c : input) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4U];
      out += kHex[byte & 15U];
    } else {
      out += c;
    }
  }
  return out;
}

std::string Quoted::operator()(std::string_view input) const {
  return cat('\'', printable(input.substr(0, kLongestQuote)),
             input.size() > kLongestQuote ? "…'" : "'");
}

std::optional<int> parse_int(std::string_view text, int lowest, int highest) {
  int value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (value < lowest || value > highest) return std::nullopt;
  if (std::to_string(value).size() != text.size()) return std::nullopt;  // "007", "-0"
  return value;
}

}  // namespace tangram
