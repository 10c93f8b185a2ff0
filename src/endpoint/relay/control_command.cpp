// See control_command.hpp.
#include "endpoint/relay/control_command.hpp"

#include <limits>

#include "api/control_line.hpp"
#include "base/text.hpp"

namespace tangram::endpoint {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kLongestDrain = 1'000LL * 86'400 * 365;

// Reads the numbers of one command; keeps the first error.
class Numbers {
 public:
  explicit Numbers(const api::ControlLine& line) : line_(line) {}

  std::int64_t get(std::string_view key, std::int64_t lowest, std::int64_t highest) {
    const Result<std::int64_t> found = line_.number(key, lowest, highest);
    if (found) return *found;
    if (error_.empty()) error_ = found.error().message;
    return 0;
  }
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  const api::ControlLine& line_;
  std::string error_;
};

RouteCommand route_in(Numbers& numbers) {
  constexpr std::int64_t kMaxRun = std::numeric_limits<std::uint32_t>::max();
  constexpr std::int64_t kMaxPort = std::numeric_limits<std::uint16_t>::max();
  const auto run = static_cast<std::uint32_t>(numbers.get("run", 0, kMaxRun));
  const auto port = static_cast<std::uint16_t>(numbers.get("port", 1, kMaxPort));
  return {Route{run, port}, milliseconds(numbers.get("drain_ms", 0, kLongestDrain))};
}

}  // namespace

Result<ControlCommand> parse_control_command(std::string_view text) {
  const Result<api::ControlLine> line = api::ControlLine::parse(text);
  if (!line) return std::unexpected(line.error());
  const std::string_view name = line->verb();
  Numbers numbers(*line);
  ControlCommand command{.id = 0, .what = HoldCommand{}};
  if (name == "route") {
    command.what = route_in(numbers);
  } else if (name == "counts") {
    command.what = CountsCommand{};
  } else if (name == "end") {
    command.what = EndCommand{milliseconds(numbers.get("drain_ms", 0, kLongestDrain))};
  } else if (name != "hold") {
    return invalid(cat("unknown command ", quoted(name), ": use route, hold, counts or end"));
  }
  command.id = numbers.get("id", 0, std::numeric_limits<std::int64_t>::max());
  if (!numbers.error().empty()) return invalid(numbers.error());
  return command;
}

}  // namespace tangram::endpoint
