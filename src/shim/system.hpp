// Small helpers of the shim: the text of an errno, the time, and shim.log. Deadlines use
// CLOCK_BOOTTIME, which cannot be set; wall-clock time is for records only.
#pragma once

#include <chrono>
#include <ctime>
#include <string>
#include <string_view>

#include "api/job.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "os/failure.hpp"

namespace tangram::shim {

using os::errno_text;
using os::system_failure;

// A point in time of CLOCK_BOOTTIME, from boot_now(). Never compare it with steady_clock::now().
using Moment = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;

inline Moment boot_now() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return Moment(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

inline api::WallTime wall_now() {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

// Writes a line with a timestamp to standard error, which detach_streams() makes shim.log.
void note(std::string_view text);

}  // namespace tangram::shim
