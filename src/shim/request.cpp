// See request.hpp.
#include "shim/request.hpp"

#include <csignal>
#include <limits>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "base/text.hpp"

namespace tangram::shim {
namespace {

namespace json = boost::json;

Result<std::int64_t> number(const json::object& object, std::string_view key, std::int64_t lowest,
                            std::int64_t highest) {
  const json::value* value = object.if_contains(key);
  const std::int64_t* found = value == nullptr ? nullptr : value->if_int64();
  if (found != nullptr && *found >= lowest && *found <= highest) return *found;
  return invalid(cat("\"", key, "\" must be a whole number from ", lowest, " to ", highest, "."));
}

Result<std::int64_t> id_of(const json::object& object) {
  return number(object, "id", 0, std::numeric_limits<std::int64_t>::max());
}

Result<Request> parse_stop(const json::object& object) {
  constexpr std::int64_t kLongest = 1'000LL * 86'400 * 365;
  if (!object.contains("grace_ms")) return StopRequest{};
  const auto grace = number(object, "grace_ms", 0, kLongest);
  if (!grace) return std::unexpected(grace.error());
  return StopRequest{std::chrono::milliseconds(*grace)};
}

Result<Request> parse_signal(const json::object& object) {
  const auto signal = number(object, "signal", 1, NSIG - 1);
  if (!signal) return std::unexpected(signal.error());
  const json::value* to = object.if_contains("to");
  if (to != nullptr && *to != "main" && *to != "group") {
    return invalid("\"to\" must be \"main\" or \"group\".");
  }
  return SignalRequest{.signal = static_cast<int>(*signal),
                       .only_main = to != nullptr && *to == "main"};
}

}  // namespace

Result<Request> parse_request(std::string_view line) {
  json::error_code code;
  const json::value document = json::parse({line.data(), line.size()}, code);
  const json::object* object = code ? nullptr : document.if_object();
  if (object == nullptr) return invalid("a line must be one JSON object.");
  const json::value* verb = object->if_contains("do");
  if (verb == nullptr || !verb->is_string()) return invalid("\"do\" is missing, or not a text.");
  const std::string_view name = verb->get_string();
  if (name == "stop") return parse_stop(*object);
  if (name == "signal") return parse_signal(*object);
  if (name != "probe" && name != "freeze" && name != "thaw") {
    return invalid(
        cat("cannot do ", quoted(name), ": it must be stop, signal, probe, freeze or thaw."));
  }
  const auto id = id_of(*object);
  if (!id) return std::unexpected(id.error());
  if (name == "probe") return ProbeRequest{*id};
  return FreezeRequest{*id, name == "freeze"};
}

}  // namespace tangram::shim
