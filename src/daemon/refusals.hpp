// Refusals: requests that came to nothing, counted per network or user instead of written down one
// by one, so that nobody can wash the lines of others out of the audit log. One rule: of each of
// them there are at most so many lines a minute and one with a number, and there is a bounded
// number of them.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tangram::daemon {

class Refusals {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Who {
    std::string network = {};                // of strangers; "others" when there are too many
    std::optional<std::uint32_t> user = {};  // of those who are known
    friend auto operator<=>(const Who&, const Who&) = default;
  };
  struct Report {
    Who who;
    std::uint64_t count = 0;
  };

  // So many of each are written in full in a minute; none: the first is reported at once.
  explicit Refusals(std::uint64_t in_full = 0) : in_full_(in_full) {}

  // Whether this one is to be written in full; else it is counted.
  bool count(const Who& who, Time now);
  // Those that are due; they are counted from zero again.
  [[nodiscard]] std::vector<Report> take_due(Time now);
  // Whatever was counted.
  [[nodiscard]] std::vector<Report> take_all();

 private:
  struct Count {
    std::uint64_t count = 0;
    Time due{};
    std::uint64_t written = 0;
  };
  std::uint64_t in_full_;
  std::map<Who, Count> counts_;
  Time next_{};  // nothing is due before
};

}  // namespace tangram::daemon
