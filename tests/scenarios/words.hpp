// Words: one input line of a scenario, split into words. Reading a missing word is an error that
// says what was expected.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/instant.hpp"

namespace tangram::scenario {

class Words {
 public:
  explicit Words(std::string_view line);  // "a=b" counts as two words

  [[nodiscard]] bool done() const { return at_ == words_.size(); }
  // Skips the words if all of them are next.
  bool take(std::string_view words);
  Result<void> expect(std::string_view words);
  Result<std::string> next(std::string_view what);
  Result<int> number(std::string_view what);
  Result<void> end();  // nothing may be left

 private:
  std::vector<std::string> words_;
  std::size_t at_ = 0;
};

// "30s", "5m", "2h", "1d" or a time of the first day, "22:00".
[[nodiscard]] Result<Duration> parse_time(std::string_view text);

}  // namespace tangram::scenario
