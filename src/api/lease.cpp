// The JSON of leases; see lease.hpp.
#include "api/lease.hpp"

#include <array>

#include <boost/json/object.hpp>

#include "api/fields.hpp"
#include "api/job_request_fields.hpp"
#include "api/printable_name.hpp"

namespace tangram::api {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 4> kStates = {"waiting", "granted", "releasing", "over"};
constexpr Bounds kRequestedTtl{1'000, 30ULL * 24 * kHour};
constexpr Bounds kWait{0, kHour};
constexpr Bounds kShownTtl{0, 100ULL * 365 * 24 * kHour};
constexpr std::size_t kLongestProfile = 128;

std::optional<std::chrono::milliseconds> ttl_in(Fields& fields, Bounds bounds) {
  const json::value* found = fields.value("ttl");
  if (found != nullptr && *found == "none") return kNoEnd;
  return fields.duration("ttl", bounds);
}

// Whether the path is absolute and normalized: no empty, "." or ".." components.
bool is_plain_path(std::string_view path) {
  if (!path.starts_with('/') || path.size() < 2) return false;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view part = path.substr(0, path.find('/'));
    if (part.empty() || part == "." || part == "..") return false;
    path.remove_prefix(part.size());
  }
  return true;
}

void read_owner(Fields& fields, LeaseView& lease) {
  lease.key = fields.text("key");
  lease.name = fields.text("name");
  lease.user = fields.text("user");
  lease.uid = fields.number32("uid").value_or(0);
  lease.taker = fields.text("taker");
  lease.taker_uid = fields.number32("taker_uid").value_or(0);
}

void read_placement(Fields& fields, LeaseView& lease) {
  lease.profile = fields.text("profile");
  lease.gpu = fields.number32("gpu");
  lease.gpu_uuid = fields.text("gpu_uuid");
  lease.gpu_minor = fields.number32("gpu_minor");
  lease.gi = fields.number32("gi");
  lease.ci = fields.number32("ci");
  lease.start = fields.number32("start");
  lease.mig_uuid = fields.text("uuid");
  lease.cdi = fields.text("cdi");
  lease.environment = fields.text_map("environment", kEnvironmentLimits);
}

void read_times(Fields& fields, LeaseView& lease) {
  lease.ttl = ttl_in(fields, kShownTtl).value_or(lease.ttl);
  lease.asked = fields.wall("asked").value_or(WallTime{});
  lease.granted = fields.wall("granted");
  lease.expires = fields.wall("expires");
  lease.ended = fields.wall("ended");
}

}  // namespace

std::string_view name_of(LeaseState state) { return kStates[static_cast<std::size_t>(state)]; }

std::string ttl_text(std::chrono::milliseconds ttl) {
  return ttl == kNoEnd ? "none" : duration_text(ttl);
}

Result<std::chrono::milliseconds> parse_ttl(std::string_view text) {
  if (text == "none") return kNoEnd;
  return parse_duration(text);
}

json::value to_json(const LeaseRequest& r) {
  json::object o;
  if (!r.profile.empty()) o["profile"] = r.profile;
  if (r.gpu_memory_mib) o["gpu_memory"] = *r.gpu_memory_mib * kMib;
  if (!r.key.empty()) o["key"] = r.key;
  if (!r.name.empty()) o["name"] = r.name;
  if (r.ttl) o["ttl"] = ttl_text(*r.ttl);
  o["wait"] = duration_text(r.wait);
  if (r.linger) o["linger"] = duration_text(*r.linger);
  if (r.uid) o["uid"] = *r.uid;
  if (!r.cgroup.empty()) o["cgroup"] = r.cgroup;
  if (!r.labels.empty()) o["labels"] = texts_json(r.labels);
  return o;
}

Result<LeaseRequest> read_lease_request(const json::value& document) {
  FieldErrors errors;
  Fields fields(document, "", "a lease", errors);
  LeaseRequest r;
  r.profile = fields.text("profile", kLongestProfile);
  r.gpu_memory_mib = gpu_memory_in(fields);
  r.key = printable_name_in(fields, "key");
  r.name = printable_name_in(fields, "name");
  r.ttl = ttl_in(fields, kRequestedTtl);
  if (r.ttl == kNoEnd && r.key.empty()) {
    fields.add_error("ttl", "\"none\" requires a key, by which the lease can be released");
  }
  r.wait = fields.duration("wait", kWait).value_or(r.wait);
  r.linger = fields.duration("linger", kWait);
  if (r.linger && r.key.empty()) {
    fields.add_error("linger", "requires a key, by which the lease can be requested again");
  }
  r.uid = fields.number32("uid");
  r.cgroup = fields.text("cgroup", kLongestPath);
  if (!r.cgroup.empty() && !is_plain_path(r.cgroup)) {
    fields.add_error("cgroup", "must be an absolute path without . and ..");
  }
  r.labels = labels_in(fields);
  fields.reject_unknown();
  check_size(r.profile, r.gpu_memory_mib.has_value(), fields);
  check_labels(r.labels, fields);
  if (errors.first()) return std::unexpected(*errors.first());
  return r;
}

Result<std::optional<std::chrono::milliseconds>> read_renewal(const json::value& document) {
  FieldErrors errors;
  Fields fields(document, "", "a renewal", errors);
  const auto ttl = ttl_in(fields, kRequestedTtl);
  fields.reject_unknown();
  if (errors.first()) return std::unexpected(*errors.first());
  return ttl;
}

json::value to_json(const LeaseView& lease) {
  return json::object{{"id", lease.id},
                      {"key", text_or_null(lease.key)},
                      {"name", text_or_null(lease.name)},
                      {"user", text_or_null(lease.user)},
                      {"uid", lease.uid},
                      {"taker", text_or_null(lease.taker)},
                      {"taker_uid", lease.taker_uid},
                      {"profile", text_or_null(lease.profile)},
                      {"state", name_of(lease.state)},
                      {"reason", text_or_null(lease.reason)},
                      {"gpu", or_null(lease.gpu)},
                      {"gpu_uuid", text_or_null(lease.gpu_uuid)},
                      {"gpu_minor", or_null(lease.gpu_minor)},
                      {"gi", or_null(lease.gi)},
                      {"ci", or_null(lease.ci)},
                      {"start", or_null(lease.start)},
                      {"uuid", text_or_null(lease.mig_uuid)},
                      {"cdi", text_or_null(lease.cdi)},
                      {"environment", texts_json(lease.environment)},
                      {"labels", texts_json(lease.labels)},
                      {"ttl", ttl_text(lease.ttl)},
                      {"asked", wall_text(lease.asked)},
                      {"granted", or_null(lease.granted)},
                      {"expires", or_null(lease.expires)},
                      {"ended", or_null(lease.ended)}};
}

Result<LeaseView> read_lease_view(const json::value& document) {
  FieldErrors errors;
  Fields fields(document, "", "a lease", errors);
  LeaseView lease;
  lease.id = fields.number("id", {0, kMax}).value_or(0);
  fields.require("id");
  fields.require("state");
  read_owner(fields, lease);
  lease.state = static_cast<LeaseState>(fields.enum_value("state", kStates).value_or(0));
  lease.reason = fields.text("reason");
  read_placement(fields, lease);
  lease.labels = fields.text_map("labels", kEnvironmentLimits);
  read_times(fields, lease);
  if (errors.first()) return std::unexpected(*errors.first());
  return lease;
}

}  // namespace tangram::api
