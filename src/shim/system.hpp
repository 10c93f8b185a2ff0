// The small words of the shim about the operating system: why a call failed, what time it is, what
// goes into shim.log. One rule: time for deadlines is CLOCK_BOOTTIME, which no one sets; the clock
// on the wall is for records only.
#pragma once

#include <chrono>
#include <ctime>
#include <string>
#include <string_view>

#include "api/job.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "files/failure.hpp"

namespace tangram::shim {

using files::system_failure;
using files::why;

using Moment = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;

inline Moment boot_now() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return Moment(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

inline api::WallTime wall_now() {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

// A line for whoever asks later why something went wrong; standard error is shim.log by then.
void note(std::string_view text);

}  // namespace tangram::shim
