// See endpoint_spec.hpp. Durations are whole milliseconds ("wait_ms"), because these documents are
// exchanged between Tangram's own programs only.
#include "api/endpoint_spec.hpp"

#include <boost/json/object.hpp>

#include "api/fields.hpp"
#include "api/job_names.hpp"
#include "base/text.hpp"

namespace tangram::api {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

constexpr Bounds kEndpointTime{0, 366ULL * 24 * 3'600'000};
constexpr std::uint64_t kMaxPort = 65'535;

// In another version, the same key may have another meaning.
void check_version(Fields& fields) {
  fields.require("version");
  const auto version = fields.number32("version");
  if (!version || *version == kEndpointVersion) return;
  fields.add_error("version", cat("is ", *version, ", but this program knows ", kEndpointVersion,
                                  " only: use programs of the same installation"));
}

EndpointMode mode_in(Fields& fields) {
  fields.require("mode");
  const auto mode =
      static_cast<EndpointMode>(fields.enum_value("mode", kEndpointNames)
                                    .value_or(static_cast<std::size_t>(EndpointMode::kTcp)));
  if (mode == EndpointMode::kNone) fields.add_error("mode", R"(must be "tcp" or "http")");
  return mode;
}

std::optional<EndpointSpec::User> user_in(Fields& fields, FieldErrors& errors) {
  const json::value* value = fields.value("user");
  if (value == nullptr) return std::nullopt;
  Fields user(*value, "user", "a user", errors);
  user.require("uid");
  user.require("gid");
  return EndpointSpec::User{.uid = user.number32("uid").value_or(0),
                            .gid = user.number32("gid").value_or(0)};
}

void read_time(Fields& fields, std::string_view key, milliseconds& out) {
  if (const auto count = fields.number(key, kEndpointTime)) out = milliseconds(*count);
}

void read_times(Fields& fields, EndpointSpec& spec) {
  read_time(fields, "wait_ms", spec.wait);
  read_time(fields, "connect_ms", spec.connect);
  read_time(fields, "header_ms", spec.header);
  read_time(fields, "keep_alive_ms", spec.keep_alive);
  read_time(fields, "idle_ms", spec.idle);
}

std::uint64_t count_in(Fields& fields, std::string_view key) {
  return fields.number(key, {0, kMax}).value_or(0);
}

}  // namespace

void apply(const EndpointLimits& limits, EndpointSpec& spec) {
  spec.wait = limits.wait.value_or(spec.wait);
  spec.connect = limits.connect.value_or(spec.connect);
  spec.keep_alive = limits.keep_alive.value_or(spec.keep_alive);
  spec.idle = limits.idle.value_or(spec.idle);
  spec.most_connections = limits.most_connections.value_or(spec.most_connections);
}

json::value to_json(const EndpointSpec& spec) {
  json::object out{{"version", kEndpointVersion},
                   {"job", spec.job},
                   {"mode", name_of(spec.mode)},
                   {"host", spec.host},
                   {"port", spec.port},
                   {"forwarded", spec.forwarded},
                   {"most_connections", spec.most_connections},
                   {"wait_ms", spec.wait.count()},
                   {"connect_ms", spec.connect.count()},
                   {"header_ms", spec.header.count()},
                   {"keep_alive_ms", spec.keep_alive.count()},
                   {"idle_ms", spec.idle.count()}};
  if (spec.user) out["user"] = json::object{{"uid", spec.user->uid}, {"gid", spec.user->gid}};
  return out;
}

Result<EndpointSpec> read_endpoint_spec(const json::value& document) {
  FieldErrors errors;
  Fields fields(document, "", "the specification of an endpoint", errors);
  check_version(fields);
  EndpointSpec spec;
  fields.require("job");
  spec.job = count_in(fields, "job");
  spec.mode = mode_in(fields);
  fields.require("host");
  spec.host = fields.text("host", kLongestHost);
  fields.require("port");
  spec.port = static_cast<std::uint16_t>(fields.number("port", {0, kMaxPort}).value_or(0));
  spec.user = user_in(fields, errors);
  spec.forwarded = fields.flag("forwarded").value_or(spec.forwarded);
  spec.most_connections = static_cast<std::uint32_t>(
      fields.number("most_connections", {1, kMost32}).value_or(spec.most_connections));
  read_times(fields, spec);
  if (errors.first()) return std::unexpected(*errors.first());
  return spec;
}

json::value to_json(const EndpointCounts& counts) {
  return json::object{{"connections", counts.connections},
                      {"requests", counts.requests},
                      {"refused", counts.refused},
                      {"retried", counts.retried},
                      {"cut", counts.cut},
                      {"broken", counts.broken},
                      {"displaced", counts.displaced},
                      {"drained", counts.drained},
                      {"bytes_in", counts.bytes_in},
                      {"bytes_out", counts.bytes_out},
                      {"open", counts.open},
                      {"active", counts.active}};
}

Result<EndpointCounts> read_endpoint_counts(const json::value& document) {
  FieldErrors errors;
  Fields fields(document, "", "the counts of an endpoint", errors);
  EndpointCounts counts;
  counts.connections = count_in(fields, "connections");
  counts.requests = count_in(fields, "requests");
  counts.refused = count_in(fields, "refused");
  counts.retried = count_in(fields, "retried");
  counts.cut = count_in(fields, "cut");
  counts.broken = count_in(fields, "broken");
  counts.displaced = count_in(fields, "displaced");
  counts.drained = count_in(fields, "drained");
  counts.bytes_in = count_in(fields, "bytes_in");
  counts.bytes_out = count_in(fields, "bytes_out");
  counts.open = fields.number32("open").value_or(0);
  counts.active = fields.number32("active").value_or(0);
  if (errors.first()) return std::unexpected(*errors.first());
  return counts;
}

}  // namespace tangram::api
