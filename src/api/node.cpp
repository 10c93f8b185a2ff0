// The JSON of the node's views; see node.hpp.
#include "api/node.hpp"

#include <limits>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/fields.hpp"

namespace tangram::api {
namespace {

namespace json = boost::json;

std::uint32_t count(Fields& fields, std::string_view key) {
  return static_cast<std::uint32_t>(fields.number(key, {0, kMost32}).value_or(0));
}

json::value instance_json(const InstanceView& i) {
  return json::object{{"profile", i.profile},
                      {"start", i.start},
                      {"size", i.size},
                      {"state", i.state},
                      {"job", i.job ? json::value(*i.job) : json::value(nullptr)},
                      {"job_name", text_or_null(i.job_name)},
                      {"uuid", text_or_null(i.uuid)}};
}

InstanceView instance_in(const json::value& document, const std::string& path,
                         FieldErrors& errors) {
  Fields fields(document, path, "an instance", errors);
  InstanceView i;
  i.profile = fields.text("profile");
  i.start = count(fields, "start");
  i.size = count(fields, "size");
  i.state = fields.text("state");
  i.job = fields.number("job", {0, kMax});
  i.job_name = fields.text("job_name");
  i.uuid = fields.text("uuid");
  return i;
}

json::value geometry_json(const ProfileGeometry& g) {
  return json::object{{"model", g.model},
                      {"compute_slices", g.compute_slices},
                      {"memory_slices", g.memory_slices},
                      {"memory_mib", g.memory_mib},
                      {"max_instances", g.max_instances}};
}

ProfileGeometry geometry_in(const json::value& document, const std::string& path,
                            FieldErrors& errors) {
  Fields fields(document, path, "a profile of a model", errors);
  ProfileGeometry g;
  g.model = fields.text("model");
  g.compute_slices = count(fields, "compute_slices");
  g.memory_slices = count(fields, "memory_slices");
  g.memory_mib = count(fields, "memory_mib");
  g.max_instances = count(fields, "max_instances");
  return g;
}

json::value profile_json(const ProfileView& p) {
  json::array models;
  for (const ProfileGeometry& g : p.models) models.push_back(geometry_json(g));
  return json::object{{"name", p.name},
                      {"memory_mib", p.memory_mib},
                      {"fits_now", p.fits_now},
                      {"starts_now", p.starts_now},
                      {"models", std::move(models)}};
}

ProfileView profile_in(const json::value& document, const std::string& path, FieldErrors& errors) {
  Fields fields(document, path, "a profile", errors);
  ProfileView p;
  p.name = fields.text("name");
  p.memory_mib = count(fields, "memory_mib");
  p.fits_now = count(fields, "fits_now");
  p.starts_now = count(fields, "starts_now");
  fields.each("models", [&](const json::value& value, const std::string& where) {
    p.models.push_back(geometry_in(value, where, errors));
  });
  return p;
}

json::value difference_json(const TuningDifference& d) {
  return json::object{{"key", d.key},
                      {"value", d.value},
                      {"expected", d.expected},
                      {"source", d.in_file ? "file" : "default"}};
}

TuningDifference difference_in(const json::value& document, const std::string& path,
                               FieldErrors& errors) {
  Fields fields(document, path, "a difference of the tuning", errors);
  TuningDifference d;
  d.key = fields.text("key");
  d.value = fields.text("value");
  d.expected = fields.text("expected");
  d.in_file = fields.text("source") == "file";
  return d;
}

json::value limit_json(const LimitUse& use) {
  return json::object{{"used", use.used}, {"limit", or_null(use.limit)}};
}

json::value user_json(const UserUse& user) {
  return json::object{{"jobs", limit_json(user.jobs)},
                      {"slices", limit_json(user.slices)},
                      {"held_jobs", limit_json(user.held_jobs)},
                      {"request_bytes", limit_json(user.request_bytes)},
                      {"log_bytes", limit_json(user.log_bytes)}};
}

json::value time_limits_json(const TimeLimits& limits) {
  const auto text = [](std::optional<std::chrono::milliseconds> time) {
    return time ? json::value(duration_text(*time)) : nullptr;
  };
  return json::object{{"default", text(limits.standard)}, {"max", text(limits.longest)}};
}

// A daemon of an older version does not send it.
TimeLimits time_limits_in(Fields& status, FieldErrors& errors) {
  TimeLimits limits;
  const json::value* value = status.value("time_limits");
  if (value == nullptr) return limits;
  Fields fields(*value, status.path_of("time_limits"), "time limits", errors);
  limits.standard = fields.duration("default", {0, kMax});
  limits.longest = fields.duration("max", {0, kMax});
  return limits;
}

// A daemon of an older version does not send it.
UserUse user_in(Fields& status, FieldErrors& errors) {
  UserUse user;
  status.each_member("user",
                     [&](std::string_view name, const json::value& value, const std::string& path) {
                       Fields fields(value, path, "a limit", errors);
                       const LimitUse use{.used = fields.number("used", {0, kMax}).value_or(0),
                                          .limit = fields.number("limit", {0, kMax})};
                       if (name == "jobs") user.jobs = use;
                       if (name == "slices") user.slices = use;
                       if (name == "held_jobs") user.held_jobs = use;
                       if (name == "request_bytes") user.request_bytes = use;
                       if (name == "log_bytes") user.log_bytes = use;
                     });
  return user;
}

}  // namespace

json::value to_json(const GpuView& g) {
  json::array instances;
  for (const InstanceView& i : g.instances) instances.push_back(instance_json(i));
  return json::object{{"index", g.index},
                      {"uuid", g.uuid},
                      {"name", g.name},
                      {"model", text_or_null(g.model)},
                      {"mig", g.mig},
                      {"health", g.health},
                      {"trouble", text_or_null(g.trouble)},
                      {"cordoned", g.cordoned},
                      {"draining", g.draining},
                      {"busy", g.busy},
                      {"compute_slices", g.compute_slices},
                      {"memory_slices", g.memory_slices},
                      {"load", g.load},
                      {"frag_cost", g.frag_cost},
                      {"instances", std::move(instances)}};
}

Result<GpuView> read_gpu_view(const json::value& document) {
  FieldErrors errors;
  Fields fields(document, "", "a GPU", errors);
  GpuView g;
  fields.require("index");
  g.index = count(fields, "index");
  g.uuid = fields.text("uuid");
  g.name = fields.text("name");
  g.model = fields.text("model");
  g.mig = fields.text("mig");
  g.health = fields.text("health");
  g.trouble = fields.text("trouble");
  g.cordoned = fields.flag("cordoned").value_or(false);
  g.draining = fields.flag("draining").value_or(false);
  g.busy = fields.flag("busy").value_or(false);
  g.compute_slices = count(fields, "compute_slices");
  g.memory_slices = count(fields, "memory_slices");
  g.load = fields.decimal("load").value_or(0);
  g.frag_cost = fields.decimal("frag_cost").value_or(0);
  fields.each("instances", [&](const json::value& value, const std::string& path) {
    g.instances.push_back(instance_in(value, path, errors));
  });
  if (errors.first()) return std::unexpected(*errors.first());
  return g;
}

json::value to_json(const OrphanView& o) {
  return json::object{{"run", o.run},          {"job", o.job},       {"uid", o.uid},
                      {"user", o.user},        {"gpu", o.gpu},       {"instance", o.instance},
                      {"pid", or_null(o.pid)}, {"folder", o.folder}, {"ending", o.ending}};
}

Result<OrphanView> read_orphan_view(const json::value& document) {
  FieldErrors errors;
  Fields fields(document, "", "an orphan", errors);
  OrphanView o;
  fields.require("run");
  o.run = fields.number("run", {0, kMax}).value_or(0);
  o.job = fields.number("job", {0, kMax}).value_or(0);
  o.uid = fields.number32("uid").value_or(0);
  o.user = fields.text("user");
  o.gpu = fields.text("gpu");
  o.instance = fields.text("instance");
  o.pid = fields.number("pid", {0, kMax});
  o.folder = fields.text("folder");
  o.ending = fields.flag("ending").value_or(false);
  if (errors.first()) return std::unexpected(*errors.first());
  return o;
}

json::value to_json(const StatusView& s) {
  json::array profiles;
  for (const ProfileView& p : s.profiles) profiles.push_back(profile_json(p));
  json::array differences;
  for (const TuningDifference& d : s.tuning_differences) differences.push_back(difference_json(d));
  return json::object{{"version", s.version},
                      {"pid", s.pid},
                      {"since", wall_text(s.since)},
                      {"emulated", s.emulated},
                      {"driver", s.driver},
                      {"store", s.store},
                      {"troubles", json::array(s.troubles.begin(), s.troubles.end())},
                      {"gpus", s.gpus},
                      {"held", s.held},
                      {"queued", s.queued},
                      {"running", s.running},
                      {"over", s.over},
                      {"orphans", s.orphans},
                      {"placement", s.placement},
                      {"migration", s.migration},
                      {"queue", s.queue},
                      {"threshold", s.threshold},
                      {"tuning_differences", std::move(differences)},
                      {"profiles", std::move(profiles)},
                      {"user", user_json(s.user)},
                      {"time_limits", time_limits_json(s.time_limits)}};
}

Result<StatusView> read_status_view(const json::value& document) {
  FieldErrors errors;
  Fields fields(document, "", "a status", errors);
  StatusView s;
  fields.require("version");
  s.version = fields.text("version");
  s.pid = fields.number("pid", {0, kMax}).value_or(0);
  s.since = fields.wall("since").value_or(WallTime{});
  s.emulated = fields.flag("emulated").value_or(false);
  s.driver = fields.text("driver");
  s.store = fields.text("store");
  s.troubles = fields.texts("troubles", {10'000, Fields::kLongestText});
  s.gpus = count(fields, "gpus");
  s.held = count(fields, "held");
  s.queued = count(fields, "queued");
  s.running = count(fields, "running");
  s.over = fields.number("over", {0, kMax}).value_or(0);
  s.orphans = count(fields, "orphans");
  s.placement = fields.text("placement");
  s.migration = fields.text("migration");
  s.queue = fields.text("queue");
  s.threshold = fields.text("threshold");
  fields.each("tuning_differences", [&](const json::value& value, const std::string& path) {
    s.tuning_differences.push_back(difference_in(value, path, errors));
  });
  fields.each("profiles", [&](const json::value& value, const std::string& path) {
    s.profiles.push_back(profile_in(value, path, errors));
  });
  s.user = user_in(fields, errors);
  s.time_limits = time_limits_in(fields, errors);
  if (errors.first()) return std::unexpected(*errors.first());
  return s;
}

}  // namespace tangram::api
