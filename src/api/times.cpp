// Durations, sizes and times as text; see job.hpp. Each parse function accepts what the
// corresponding text function writes.
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

#include "api/job.hpp"
#include "base/text.hpp"

namespace tangram::api {
namespace {

struct Unit {
  std::string_view name;
  double size;
};
constexpr double kMsPerDay = 86'400'000;
constexpr std::array kDurationUnits = {Unit{"d", kMsPerDay}, Unit{"h", 3'600'000},
                                       Unit{"m", 60'000}, Unit{"s", 1'000}, Unit{"ms", 1}};
constexpr double kLongestDays = 36'500;

constexpr double kKib = 1024;
constexpr std::array kByteUnits = {Unit{"b", 1},
                                   Unit{"kib", kKib},
                                   Unit{"k", kKib},
                                   Unit{"mib", kKib* kKib},
                                   Unit{"m", kKib* kKib},
                                   Unit{"gib", kKib* kKib* kKib},
                                   Unit{"g", kKib* kKib* kKib},
                                   Unit{"tib", kKib* kKib* kKib* kKib},
                                   Unit{"t", kKib* kKib* kKib* kKib}};
constexpr double kMaxBytes = 9'007'199'254'740'992;  // 2^53: exact in every JSON implementation

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Removes a decimal number, e.g. "1.5", from the front of the text.
std::optional<double> pop_number(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
  if (end == 0 || !is_digit(text[0]) || end > 20) return std::nullopt;
  double value = 0;
  const std::string_view digits = text.substr(0, end);
  const auto [stop, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (status != std::errc{} || stop != digits.data() + digits.size()) return std::nullopt;
  text.remove_prefix(end);
  return value;
}

std::string_view pop_letters(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && !is_digit(text[end]) && text[end] != '.') ++end;
  const std::string_view letters = text.substr(0, end);
  text.remove_prefix(end);
  return letters;
}

std::unexpected<Error> invalid_duration(std::string_view text) {
  return invalid(cat("invalid duration ", quoted(text), ": use e.g. 90s, 1h30m, 500ms or 2d"));
}

// The value of `count` characters from `at`, which must be digits.
int digits(std::string_view text, std::size_t at, std::size_t count) {
  int value = 0;
  for (const char c : text.substr(at, count)) value = value * 10 + (c - '0');
  return value;
}

// Whether the text starts with the pattern, in which '0' stands for any digit.
bool matches(std::string_view text, std::string_view pattern) {
  if (text.size() < pattern.size()) return false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '0' ? !is_digit(text[i]) : text[i] != pattern[i]) return false;
  }
  return true;
}

}  // namespace

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  std::string_view rest = text;
  double total = 0;
  double last = std::numeric_limits<double>::infinity();
  while (!rest.empty()) {
    const auto number = pop_number(rest);
    if (!number) return invalid_duration(text);
    const std::string_view name = pop_letters(rest);
    // A number alone is seconds.
    const bool alone = name.empty() && rest.empty() && std::isinf(last);
    const Unit* unit = nullptr;
    for (const Unit& u : kDurationUnits) {
      if (u.name == (alone ? "s" : name)) unit = &u;
    }
    if (unit == nullptr || unit->size >= last) return invalid_duration(text);
    last = unit->size;
    total += *number * unit->size;
  }
  if (std::isinf(last)) return invalid_duration(text);
  if (total > kLongestDays * kMsPerDay) {
    return invalid(cat("invalid duration ", quoted(text), ": longer than a hundred years"));
  }
  return std::chrono::milliseconds(std::llround(total));
}

std::string duration_text(std::chrono::milliseconds duration) {
  if (duration.count() <= 0) return "0s";
  auto left = duration.count();
  if (left < 1'000) return cat(left, "ms");
  std::string text;
  for (const Unit& unit : kDurationUnits) {
    const auto size = static_cast<std::int64_t>(unit.size);
    if (size < 1'000) break;
    const auto count = left / size;
    const bool fraction = size == 1'000 && left % 1'000 != 0;
    if (fraction) {
      std::string part = std::to_string(1'000 + left % 1'000).substr(1);
      part.erase(part.find_last_not_of('0') + 1);
      text += cat(count, '.', part, unit.name);
    } else if (count > 0) {
      text += cat(count, unit.name);
    }
    left -= count * size;
  }
  return text;
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
  std::string_view rest = text;
  const auto number = pop_number(rest);
  std::string name;
  for (const char c : rest) name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const Unit& unit : kByteUnits) {
    if (!number || unit.name != (name.empty() ? "b" : name)) continue;
    const double bytes = *number * unit.size;
    if (bytes > kMaxBytes) return invalid(cat("invalid size ", quoted(text), ": more than 8 PiB"));
    return static_cast<std::uint64_t>(std::llround(bytes));
  }
  return invalid(cat("invalid size ", quoted(text),
                     ": use e.g. 8GiB or 512MiB (units of 1024: KiB, MiB, GiB, TiB, or K, M, G, T) "
                     "or a number of bytes"));
}

std::string wall_text(WallTime when) {
  const auto day = std::chrono::floor<std::chrono::days>(when);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(when - day);
  std::array<char, 64> text{};
  const int size = std::snprintf(
      text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ",
      static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
      static_cast<unsigned>(date.day()), static_cast<int>(time.hours().count()),
      static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()),
      static_cast<int>(time.subseconds().count()));
  return {text.data(), static_cast<std::size_t>(size)};
}

Result<WallTime> parse_wall(std::string_view text) {
  constexpr std::string_view kPattern = "0000-00-00T00:00:00";
  const auto wrong = [&] {
    return invalid(cat("invalid time ", quoted(text), ": use e.g. 2026-11-16T11:42:03Z"));
  };
  if (!matches(text, kPattern) || !text.ends_with('Z')) return wrong();
  std::string_view fraction = text.substr(kPattern.size(), text.size() - kPattern.size() - 1);
  int micros = 0;
  if (!fraction.empty()) {
    fraction.remove_prefix(fraction.front() == '.' ? 1 : fraction.size());
    if (fraction.empty() || fraction.size() > 6 ||
        !matches(fraction, std::string(fraction.size(), '0')))
      return wrong();
    micros = digits(fraction, 0, fraction.size());
    for (std::size_t i = fraction.size(); i < 6; ++i) micros *= 10;
  }
  const std::chrono::year_month_day date(
      std::chrono::year(digits(text, 0, 4)),
      std::chrono::month(static_cast<unsigned>(digits(text, 5, 2))),
      std::chrono::day(static_cast<unsigned>(digits(text, 8, 2))));
  const int hour = digits(text, 11, 2);
  const int minute = digits(text, 14, 2);
  const int second = digits(text, 17, 2);
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return wrong();
  return WallTime(std::chrono::sys_days(date)) + std::chrono::hours(hour) +
         std::chrono::minutes(minute) + std::chrono::seconds(second) +
         std::chrono::microseconds(micros);
}

}  // namespace tangram::api
