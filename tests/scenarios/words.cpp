// See words.hpp.
#include "words.hpp"

#include <algorithm>
#include <chrono>
#include <sstream>

#include "base/text.hpp"

namespace tangram::scenario {
namespace {

constexpr int kMax = 1'000'000;

std::vector<std::string> split(std::string text) {
  std::ranges::replace(text, '=', ' ');
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

}  // namespace

Words::Words(std::string_view line) : words_(split(std::string(line))) {}

bool Words::take(std::string_view words) {
  const std::vector<std::string> wanted = split(std::string(words));
  if (words_.size() - at_ < wanted.size()) return false;
  const auto from = words_.begin() + static_cast<std::ptrdiff_t>(at_);
  if (!std::equal(wanted.begin(), wanted.end(), from)) return false;
  at_ += wanted.size();
  return true;
}

Result<void> Words::expect(std::string_view words) {
  if (take(words)) return {};
  return invalid(cat("expected ", tangram::quoted(words), done() ? " at the end" : " before ",
                     done() ? std::string() : tangram::quoted(words_[at_]), "."));
}

Result<std::string> Words::next(std::string_view what) {
  if (done()) return invalid(cat("expected ", what, " at the end."));
  return words_[at_++];
}

Result<int> Words::number(std::string_view what) {
  const auto word = next(what);
  if (!word) return std::unexpected(word.error());
  const auto number = parse_int(*word, 0, kMax);
  if (!number) return invalid(cat("expected ", what, ", not ", tangram::quoted(*word), "."));
  return *number;
}

Result<void> Words::end() {
  if (done()) return {};
  return invalid(cat("did not understand ", tangram::quoted(words_[at_]), "."));
}

Result<Duration> parse_time(std::string_view text) {
  using namespace std::chrono;
  const auto bad = [&] {
    return invalid(cat(tangram::quoted(text), " is no time; write 30s or 22:00."));
  };
  if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    const std::string hour(text.substr(0, colon));
    const auto h = parse_int(hour.starts_with('0') && hour != "0" ? hour.substr(1) : hour, 0, 24);
    const std::string minute(text.substr(colon + 1));
    const auto m =
        parse_int(minute.starts_with('0') && minute != "0" ? minute.substr(1) : minute, 0, 59);
    if (!h || !m) return bad();
    return Duration(hours(*h) + minutes(*m));
  }
  if (text.empty()) return bad();
  const auto n = parse_int(text.substr(0, text.size() - 1), 0, kMax);
  if (!n) return bad();
  switch (text.back()) {
    case 's':
      return Duration(seconds(*n));
    case 'm':
      return Duration(minutes(*n));
    case 'h':
      return Duration(hours(*n));
    case 'd':
      return Duration(hours(24 * *n));
    default:
      return bad();
  }
}

}  // namespace tangram::scenario
