// RefusalLog: limits how many refused requests are logged in full. The rest are counted per network
// or user and logged as one line a minute, so that a flood of refusals cannot rotate other lines
// out of the audit log. The number of sources is bounded; the excess counts as "others".
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tangram::daemon {

class RefusalLog {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Source {
    std::string network = {};                // of an unauthenticated client; "others": the excess
    std::optional<std::uint32_t> user = {};  // of an authenticated caller
    friend auto operator<=>(const Source&, const Source&) = default;
  };
  struct Summary {
    Source source;
    std::uint64_t count = 0;
  };

  // `full_per_minute`: refusals of each source that are logged in full. With 0, the first count of
  // a source is due at once.
  explicit RefusalLog(std::uint64_t full_per_minute = 0) : full_per_minute_(full_per_minute) {}

  // Adds a refusal. True: log it in full. False: it was only counted.
  bool add(const Source& source, Time now);
  // Counts that are due now; each source restarts from zero.
  [[nodiscard]] std::vector<Summary> take_due(Time now);
  // All counts, due or not.
  [[nodiscard]] std::vector<Summary> take_all();

 private:
  struct Count {
    std::uint64_t count = 0;
    Time due{};
    std::uint64_t written = 0;
  };
  std::uint64_t full_per_minute_;
  std::map<Source, Count> counts_;
  Time next_{};  // when the next count is due
};

}  // namespace tangram::daemon
