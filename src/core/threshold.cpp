// See threshold.hpp.
#include "core/threshold.hpp"

#include "base/text.hpp"

namespace tangram::core {

Result<Threshold> Threshold::parse(std::string_view text) {
  constexpr std::size_t kDigits = 9;
  const auto refuse = [&] {
    return invalid(cat("the threshold ", quoted(text),
                       " is not a decimal from 0 to 1 with at most nine digits after the point, "
                       "as in 0.4."));
  };
  const std::size_t point = text.find('.');
  const bool has_point = point != std::string_view::npos;
  std::string digits(has_point ? text.substr(point + 1) : std::string_view());
  if (has_point && (digits.empty() || digits.size() > kDigits)) return refuse();
  digits.resize(kDigits, '0');
  const auto ones = parse_int(text.substr(0, point), 0, 1);
  if (!ones) return refuse();
  std::int64_t fraction = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return refuse();
    fraction = fraction * 10 + (c - '0');
  }
  const std::int64_t value = *ones * kOne + fraction;
  if (value > kOne) return refuse();
  return from_billionths(value);
}

std::string Threshold::text() const {
  std::string digits = std::to_string(billionths_ % kOne);
  digits.insert(0, 9 - digits.size(), '0');
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  return cat(billionths_ / kOne, ".", digits);
}

}  // namespace tangram::core
