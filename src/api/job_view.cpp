// The JSON of a JobView; see job.hpp. Every key is always present, null if there is no value;
// scripts rely on it.
#include <limits>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/fields.hpp"
#include "api/job.hpp"
#include "api/job_names.hpp"
#include "api/job_request_fields.hpp"
#include "base/text.hpp"

namespace tangram::api {
namespace {

namespace json = boost::json;

// The name that the user gave, or the program's.
std::string display_name(const JobRequest& request) {
  if (!request.name.empty() || request.command.empty()) return request.name;
  const std::string& program = request.command.front();
  return program.substr(program.rfind('/') + 1);
}

JobRequest request_for(const JobView& job) {
  JobRequest request = job.request;
  if (job.outline) {
    request.command.clear();
    request.environment.clear();
    request.directory.clear();
  }
  return request;
}

std::optional<int> integer(Fields& fields, std::string_view key) {
  const auto number = fields.signed_number(key);
  if (!number) return std::nullopt;
  if (*number < std::numeric_limits<int>::min() || *number > std::numeric_limits<int>::max()) {
    fields.add_error(key, "is too large");
    return std::nullopt;
  }
  return static_cast<int>(*number);
}

void read_placement(Fields& fields, JobView& job) {
  job.profile = fields.text("profile");
  job.gpu = fields.number32("gpu");
  job.gpu_uuid = fields.text("gpu_uuid");
  job.start = fields.number32("start");
  job.mig_uuid = fields.text("uuid");
  job.pid = integer(fields, "pid");
  job.address = fields.text("address");
  if (const auto port = fields.number("port", {1, 65'535})) {
    job.port = static_cast<std::uint16_t>(*port);
  }
}

RunRecord run_record_in(const json::value& value, const std::string& path, FieldErrors& errors) {
  Fields fields(value, path, "a place", errors);
  RunRecord place;
  place.run = fields.number32("run");
  place.gpu = fields.number32("gpu").value_or(0);
  place.start = fields.number32("start").value_or(0);
  place.profile = fields.text("profile");
  place.mig_uuid = fields.text("uuid");
  place.how = fields.text("how");
  place.result = fields.text("result");
  place.reason = fields.text("reason");
  place.finished = fields.number("finished", {0, kMax}).value_or(0);
  place.cut = fields.number("cut", {0, kMax}).value_or(0);
  place.started = fields.wall("started");
  place.ended = fields.wall("ended");
  return place;
}

json::value run_record_json(const RunRecord& place) {
  return json::object{{"run", or_null(place.run)},
                      {"gpu", place.gpu},
                      {"start", place.start},
                      {"profile", place.profile},
                      {"uuid", text_or_null(place.mig_uuid)},
                      {"how", place.how},
                      {"result", text_or_null(place.result)},
                      {"reason", text_or_null(place.reason)},
                      {"finished", place.finished},
                      {"cut", place.cut},
                      {"started", or_null(place.started)},
                      {"ended", or_null(place.ended)}};
}

json::array run_records_json(const std::vector<RunRecord>& places) {
  json::array array;
  for (const RunRecord& place : places) array.push_back(run_record_json(place));
  return array;
}

void read_progress(Fields& fields, JobView& job, FieldErrors& errors) {
  job.state = static_cast<JobState>(fields.enum_value("state", kStateNames).value_or(1));
  job.reason = fields.text("reason");
  job.exit_code = integer(fields, "exit_code");
  job.exit_signal = integer(fields, "exit_signal");
  job.restarts = fields.number32("restarts").value_or(0);
  job.submitted = fields.wall("submitted").value_or(WallTime{});
  job.started = fields.wall("started");
  job.ended = fields.wall("ended");
  job.moving = fields.flag("moving").value_or(false);
  job.waits_for = dependencies_in(fields, "waits_for", errors);
}

}  // namespace

json::value to_json(const JobView& job) {
  return json::object{{"id", job.id},
                      {"name", text_or_null(display_name(job.request))},
                      {"profile", text_or_null(job.profile)},
                      {"state", name_of(job.state)},
                      {"reason", text_or_null(job.reason)},
                      {"gpu", or_null(job.gpu)},
                      {"start", or_null(job.start)},
                      {"uuid", text_or_null(job.mig_uuid)},
                      {"gpu_uuid", text_or_null(job.gpu_uuid)},
                      {"exit_code", or_null(job.exit_code)},
                      {"exit_signal", or_null(job.exit_signal)},
                      {"submitted", wall_text(job.submitted)},
                      {"started", or_null(job.started)},
                      {"ended", or_null(job.ended)},
                      {"user", text_or_null(job.user)},
                      {"uid", job.uid},
                      {"pid", or_null(job.pid)},
                      {"port", or_null(job.port)},
                      {"address", text_or_null(job.address)},
                      {"restarts", job.restarts},
                      {"moving", job.moving},
                      {"array", or_null(job.array)},
                      {"index", or_null(job.array_index)},
                      {"waits_for", dependencies_json(job.waits_for)},
                      {"places", run_records_json(job.places)},
                      {"outline", job.outline},
                      {"request", to_json(request_for(job))}};
}

JobView view_in(const json::value& document, const std::string& path, FieldErrors& errors) {
  Fields fields(document, path, "a job", errors);
  JobView job;
  job.id = fields.number("id", {0, kMax}).value_or(0);
  fields.require("id");
  fields.require("state");
  job.array = fields.number("array", {0, kMax});
  job.array_index = fields.number32("index");
  job.user = fields.text("user");
  job.uid = fields.number32("uid").value_or(0);
  job.outline = fields.flag("outline").value_or(false);
  if (const json::value* request = fields.value("request")) {
    Fields request_fields(*request, fields.path_of("request"), "a job", errors);
    job.request = request_in(request_fields, errors);
  }
  job.request.name = fields.text("name");
  read_placement(fields, job);
  read_progress(fields, job, errors);
  fields.each("places", [&](const json::value& value, const std::string& at) {
    job.places.push_back(run_record_in(value, at, errors));
  });
  return job;
}

Result<JobView> read_job_view(const json::value& document) {
  FieldErrors errors;
  JobView job = view_in(document, "", errors);
  if (errors.first()) return std::unexpected(*errors.first());
  return job;
}

}  // namespace tangram::api
