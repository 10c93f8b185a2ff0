// The JSON of Endpoint and MoveOptions; see job.hpp. A move method that cannot work for the job is
// rejected at submission, not when a move is attempted.
#include <arpa/inet.h>
#include <array>
#include <cstddef>

#include <boost/json/object.hpp>

#include "api/fields.hpp"
#include "api/job.hpp"
#include "api/job_names.hpp"
#include "api/job_request_fields.hpp"
#include "api/signals.hpp"
#include "base/text.hpp"

namespace tangram::api {
namespace {

namespace json = boost::json;

constexpr Bounds kTimes{10, 366ULL * 24 * kHour};

// "none" is read as 0: no timeout.
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
  if (const auto most = fields.number("most_connections", {1, kMaxConnections})) {
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

Endpoint endpoint_in(const json::value& value, const std::string& path, FieldErrors& errors) {
  Fields fields(value, path, "an endpoint", errors);
  Endpoint endpoint;
  if (const auto mode = fields.enum_value("mode", kEndpointNames)) {
    endpoint.mode = static_cast<EndpointMode>(*mode);
  }
  endpoint.host = fields.text("host", kLongestHost);
  if (!endpoint.host.empty() && !is_address(endpoint.host)) {
    fields.add_error("host",
                     R"(must be an IP address to listen on, e.g. "127.0.0.1" or "0.0.0.0")");
  }
  endpoint.forwarded = fields.flag("forwarded").value_or(false);
  endpoint.drain = fields.duration("drain", {0, kHour}).value_or(endpoint.drain);
  endpoint.limits = limits_in(fields);
  fields.reject_unknown();
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

MoveOptions move_in(const json::value& value, const std::string& path, FieldErrors& errors) {
  Fields fields(value, path, "the move options", errors);
  MoveOptions move;
  if (const auto way = fields.enum_value("way", kMoveNames))
    move.way = static_cast<MoveMethod>(*way);
  if (fields.has("signal")) {
    const auto signal = parse_signal(fields.text("signal"));
    if (signal) {
      move.signal = *signal;
    } else {
      fields.add_error("signal", signal.error().message);
    }
  }
  move.deadline = fields.duration("deadline", {10, 24 * kHour}).value_or(move.deadline);
  fields.reject_unknown();
  return move;
}

json::value move_json(const MoveOptions& move) {
  json::object object;
  if (move.way) object["way"] = name_of(*move.way);
  object["signal"] = signal_name(move.signal);
  object["deadline"] = duration_text(move.deadline);
  return object;
}

void check_endpoint_and_move(const JobRequest& request, Fields& fields) {
  const bool is_service = request.kind == JobKind::kService;
  Endpoint none;
  none.mode = EndpointMode::kNone;
  if (!is_service && request.endpoint != Endpoint{} && request.endpoint != none) {
    fields.add_error("endpoint", "is for services only; set kind to \"service\"");
  }
  const auto way = request.move.way.value_or(MoveMethod::kNever);
  if (way == MoveMethod::kCheckpoint && is_service) {
    fields.add_error("move.way", R"("checkpoint" is for batch jobs; use "replica" for a service)");
  }
  if (way == MoveMethod::kReplica && !is_service) {
    fields.add_error("move.way", R"("replica" is for services; use "checkpoint" for a batch job)");
  }
}

}  // namespace tangram::api
