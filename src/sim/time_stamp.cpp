// See time_stamp.hpp.
#include "sim/time_stamp.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tangram::sim {
namespace {

constexpr std::string_view kPattern = "dddd-dd-dd dd:dd:dd";  // d: a digit
constexpr std::string_view kUtc = "+00:00";
constexpr std::size_t kMaxFractionDigits = 9;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool has_form(std::string_view text) {
  const auto fits = [](char c, char wanted) { return wanted == 'd' ? is_digit(c) : c == wanted; };
  return text.size() >= kPattern.size() &&
         std::ranges::equal(text.substr(0, kPattern.size()), kPattern, fits);
}

std::int64_t digits(std::string_view text) {
  std::int64_t value = 0;
  for (const char c : text) value = value * 10 + (c - '0');
  return value;
}

int part(std::string_view text, std::size_t at, std::size_t size) {
  return static_cast<int>(digits(text.substr(at, size)));
}

// Parses "" or ".d…", the fraction of a second.
std::optional<double> parse_fraction(std::string_view text) {
  if (text.empty()) return 0;
  const std::string_view behind = text.substr(1);
  const bool good = text.front() == '.' && !behind.empty() && behind.size() <= kMaxFractionDigits &&
                    std::ranges::all_of(behind, is_digit);
  if (!good) return std::nullopt;
  double unit = 1;
  for (std::size_t i = 0; i < behind.size(); ++i) unit *= 10;
  return static_cast<double>(digits(behind)) / unit;
}

}  // namespace

std::optional<TimeStamp> parse_time_stamp(std::string_view text) {
  if (!has_form(text)) return std::nullopt;
  const std::chrono::year_month_day date{
      std::chrono::year(part(text, 0, 4)),
      std::chrono::month(static_cast<unsigned>(part(text, 5, 2))),
      std::chrono::day(static_cast<unsigned>(part(text, 8, 2)))};
  const int hour = part(text, 11, 2);
  const int minute = part(text, 14, 2);
  const int second = part(text, 17, 2);
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  std::string_view rest = text.substr(kPattern.size());
  if (rest.ends_with(kUtc)) rest.remove_suffix(kUtc.size());
  const auto fraction = parse_fraction(rest);
  if (!fraction) return std::nullopt;
  return TimeStamp{date, hour * 3600 + minute * 60 + second + *fraction};
}

}  // namespace tangram::sim
