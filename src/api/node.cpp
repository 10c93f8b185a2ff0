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
  i.job = fields.number("job", {0, kMost});
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

json::value to_json(const StatusView& s) {
  json::array profiles;
  for (const ProfileView& p : s.profiles) profiles.push_back(profile_json(p));
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
                      {"placement", s.placement},
                      {"migration", s.migration},
                      {"queue", s.queue},
                      {"threshold", s.threshold},
                      {"profiles", std::move(profiles)}};
}

Result<StatusView> read_status_view(const json::value& document) {
  FieldErrors errors;
  Fields fields(document, "", "a status", errors);
  StatusView s;
  fields.require("version");
  s.version = fields.text("version");
  s.pid = fields.number("pid", {0, kMost}).value_or(0);
  s.since = fields.wall("since").value_or(WallTime{});
  s.emulated = fields.flag("emulated").value_or(false);
  s.driver = fields.text("driver");
  s.store = fields.text("store");
  s.troubles = fields.texts("troubles", {10'000, Fields::kLongestText});
  s.gpus = count(fields, "gpus");
  s.held = count(fields, "held");
  s.queued = count(fields, "queued");
  s.running = count(fields, "running");
  s.over = fields.number("over", {0, kMost}).value_or(0);
  s.placement = fields.text("placement");
  s.migration = fields.text("migration");
  s.queue = fields.text("queue");
  s.threshold = fields.text("threshold");
  fields.each("profiles", [&](const json::value& value, const std::string& path) {
    s.profiles.push_back(profile_in(value, path, errors));
  });
  if (errors.first()) return std::unexpected(*errors.first());
  return s;
}

}  // namespace tangram::api
