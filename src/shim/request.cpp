// See request.hpp.
#include "shim/request.hpp"

#include <csignal>
#include <limits>

#include "api/control_line.hpp"
#include "base/text.hpp"

namespace tangram::shim {
namespace {

Result<Request> parse_stop(const api::ControlLine& line) {
  constexpr std::int64_t kLongest = 1'000LL * 86'400 * 365;
  if (line.find("grace_ms") == nullptr) return StopRequest{};
  const auto grace = line.number("grace_ms", 0, kLongest);
  if (!grace) return std::unexpected(grace.error());
  return StopRequest{std::chrono::milliseconds(*grace)};
}

Result<Request> parse_signal(const api::ControlLine& line) {
  const auto signal = line.number("signal", 1, NSIG - 1);
  if (!signal) return std::unexpected(signal.error());
  const boost::json::value* to = line.find("to");
  if (to != nullptr && *to != "main" && *to != "group") {
    return invalid(R"("to" must be "main" or "group".)");
  }
  return SignalRequest{.signal = static_cast<int>(*signal),
                       .only_main = to != nullptr && *to == "main"};
}

}  // namespace

Result<Request> parse_request(std::string_view text) {
  const Result<api::ControlLine> line = api::ControlLine::parse(text);
  if (!line) return std::unexpected(line.error());
  const std::string_view name = line->verb();
  if (name == "stop") return parse_stop(*line);
  if (name == "signal") return parse_signal(*line);
  if (name != "probe" && name != "freeze" && name != "thaw" && name != "checkpoint") {
    return invalid(cat("unknown request ", quoted(name),
                       ": use stop, signal, probe, freeze, thaw or checkpoint."));
  }
  const auto id = line->number("id", 0, std::numeric_limits<std::int64_t>::max());
  if (!id) return std::unexpected(id.error());
  if (name == "probe") return ProbeRequest{*id};
  if (name == "checkpoint") {
    const auto signal = line->number("signal", 1, NSIG - 1);
    if (!signal) return std::unexpected(signal.error());
    return CheckpointRequest{.id = *id, .signal = static_cast<int>(*signal)};
  }
  return FreezeRequest{*id, name == "freeze"};
}

}  // namespace tangram::shim
