// Time stamps of the Azure traces: a day and a second of it, not seconds since 1970, because a
// double has too few digits for those and a ten-millionth. Invalid dates and times are rejected.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace tangram::sim {

struct TimeStamp {
  std::chrono::sys_days day;
  double second = 0;  // of the day
};

// YYYY-MM-DD HH:MM:SS, optionally a fraction of 1 to 9 digits, optionally +00:00.
[[nodiscard]] std::optional<TimeStamp> parse_time_stamp(std::string_view text);

}  // namespace tangram::sim
