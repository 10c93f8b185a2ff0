// Time stamps as the Azure traces write them. A day and a second of it, not seconds since 1970: a
// double has too few digits for those and a ten-millionth. One rule: what is no day of the calendar
// or no time of the day is refused.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace tangram::sim {

struct TimeStamp {
  std::chrono::sys_days day;
  double second = 0;  // of the day
};

// YYYY-MM-DD HH:MM:SS, then a fraction of 1 to 9 digits or none, then +00:00 or nothing.
[[nodiscard]] std::optional<TimeStamp> parse_time_stamp(std::string_view text);

}  // namespace tangram::sim
