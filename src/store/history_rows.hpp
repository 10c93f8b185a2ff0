// What queries about history select and return; see store.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tangram::store {

using WallTime = std::chrono::sys_time<std::chrono::microseconds>;

// The clocks at one moment. `since_boot` cannot be set; it is only comparable with the same `boot`.
struct ClockReading {
  WallTime wall{};
  std::chrono::microseconds since_boot{0};
  std::string boot;  // boot ID
};

// Selects finished jobs; unset members match all.
struct FinishedJobFilter {
  std::optional<std::string> user = {};
  std::optional<std::string> profile = {};
  std::optional<std::string> state = {};
  std::optional<std::string> name = {};
  std::optional<WallTime> since = {};           // ended at or after this time
  std::optional<WallTime> until = {};           // ended before this time
  std::optional<std::string> label = {};        // has a label of this name
  std::optional<std::string> label_value = {};  // and that label has this value
  std::optional<std::uint32_t> uid = {};
  std::optional<std::uint64_t> array = {};
};

// A user's usage of a profile within an interval.
struct UsageRow {
  std::string user;
  std::string profile;
  std::uint64_t jobs = 0;
  std::chrono::microseconds held{0};  // total over all runs
};

struct Usage {
  WallTime from{};  // the interval actually covered: clipped to what is known, and extended to
  WallTime to{};    // whole days where jobs of the day were deleted
  std::vector<UsageRow> rows = {};  // by user, then by profile
};

// A run that has ended and whose folder is kept.
struct EndedRun {
  std::uint32_t run = 0;
  std::uint32_t uid = 0;  // of its job
  WallTime asked{};
};

}  // namespace tangram::store
