// The JSON of how clients reach a service and how a job moves; see job.hpp. One rule: a way to move
// that could not work for this job is refused when it is asked for, not when it is needed.
#include <arpa/inet.h>
#include <array>
#include <cstddef>

#include <boost/json/object.hpp>

#include "api/fields.hpp"
#include "api/job.hpp"
#include "api/job_request_fields.hpp"
#include "api/job_words.hpp"
#include "api/signals.hpp"
#include "base/text.hpp"

namespace tangram::api {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kHour = 3'600'000;
constexpr std::size_t kLongestHost = 64;
constexpr Bounds kTimes{10, 366 * 24 * kHour};

// "none": for ever.
std::optional<std::chrono::milliseconds> time_or_none(Fields& fields, std::string_view key) {
  const json::value* value = fields.value(key);
  if (value != nullptr && value->is_string() && value->get_string() == "none") {
    return std::chrono::milliseconds(0);
  }
  return fields.duration(key, kTimes);
}

EndpointLimits limits_in(Fields& fields) {
  EndpointLimits limits;
  limits.wait = fields.duration("wait", kTimes);
  limits.connect = fields.duration("connect", kTimes);
  limits.keep_alive = fields.duration("keep_alive", kTimes);
  limits.idle = time_or_none(fields, "idle");
  if (const auto most = fields.number("most_connections", {1, kMostConnections})) {
    limits.most_connections = static_cast<std::uint32_t>(*most);
  }
  return limits;
}

void set_limits(const EndpointLimits& limits, json::object& object) {
  const auto set = [&](const char* key, const auto& time) {
    if (time) object[key] = duration_text(*time);
  };
  set("wait", limits.wait);
  set("connect", limits.connect);
  set("keep_alive", limits.keep_alive);
  set("idle", limits.idle);
  if (limits.idle == std::chrono::milliseconds(0)) object["idle"] = "none";
  if (limits.most_connections) object["most_connections"] = *limits.most_connections;
}

bool is_address(const std::string& text) {
  std::array<std::byte, 16> address{};
  return inet_pton(AF_INET, text.c_str(), address.data()) == 1 ||
         inet_pton(AF_INET6, text.c_str(), address.data()) == 1;
}

}  // namespace

Endpoint endpoint_in(const json::value& value, const std::string& path, Mistakes& mistakes) {
  Fields fields(value, path, "an endpoint", mistakes);
  Endpoint endpoint;
  if (const auto mode = fields.word("mode", kEndpointWords)) {
    endpoint.mode = static_cast<EndpointMode>(*mode);
  }
  endpoint.host = fields.text("host", kLongestHost);
  if (!endpoint.host.empty() && !is_address(endpoint.host)) {
    fields.mistake("host", "must be an IP address to listen on, as \"127.0.0.1\" or \"0.0.0.0\".");
  }
  endpoint.forwarded = fields.flag("forwarded").value_or(false);
  endpoint.drain = fields.duration("drain", {0, kHour}).value_or(endpoint.drain);
  endpoint.limits = limits_in(fields);
  fields.refuse_others();
  return endpoint;
}

json::value endpoint_json(const Endpoint& endpoint) {
  json::object object;
  if (endpoint.mode) object["mode"] = name_of(*endpoint.mode);
  if (!endpoint.host.empty()) object["host"] = endpoint.host;
  object["forwarded"] = endpoint.forwarded;
  object["drain"] = duration_text(endpoint.drain);
  set_limits(endpoint.limits, object);
  return object;
}

MoveOptions move_in(const json::value& value, const std::string& path, Mistakes& mistakes) {
  Fields fields(value, path, "a way to move", mistakes);
  MoveOptions move;
  if (const auto way = fields.word("way", kMoveWords)) move.way = static_cast<MoveWay>(*way);
  if (fields.has("signal")) {
    const auto signal = parse_signal(fields.text("signal"));
    if (signal) {
      move.signal = *signal;
    } else {
      fields.mistake("signal", signal.error().message);
    }
  }
  move.deadline = fields.duration("deadline", {10, 24 * kHour}).value_or(move.deadline);
  fields.refuse_others();
  return move;
}

json::value move_json(const MoveOptions& move) {
  json::object object;
  if (move.way) object["way"] = name_of(*move.way);
  object["signal"] = signal_name(move.signal);
  object["deadline"] = duration_text(move.deadline);
  return object;
}

void check_moving(const JobRequest& request, Fields& fields) {
  const bool is_service = request.kind == JobKind::kService;
  Endpoint none;
  none.mode = EndpointMode::kNone;
  if (!is_service && request.endpoint != Endpoint{} && request.endpoint != none) {
    fields.mistake("endpoint", "is for services only; set kind to \"service\".");
  }
  const auto way = request.move.way.value_or(MoveWay::kNever);
  if (way == MoveWay::kCheckpoint && is_service) {
    fields.mistake("move.way", "\"checkpoint\" is for batch jobs; a service moves by \"replica\".");
  }
  if (way == MoveWay::kReplica && !is_service) {
    fields.mistake("move.way",
                   "\"replica\" is for services; a batch job can only move by \"checkpoint\".");
  }
}

}  // namespace tangram::api
