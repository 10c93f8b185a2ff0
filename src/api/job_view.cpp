// The JSON of a JobView; see job.hpp. One rule: every key is always there, null if there is nothing
// to say; scripts may rely on it.
#include <limits>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/fields.hpp"
#include "api/job.hpp"
#include "api/job_request_fields.hpp"
#include "api/job_words.hpp"
#include "base/text.hpp"

namespace tangram::api {
namespace {

namespace json = boost::json;

// The name a user gave, or the command's own.
std::string name_for(const JobRequest& request) {
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
    fields.mistake(key, "is too large.");
    return std::nullopt;
  }
  return static_cast<int>(*number);
}

void read_place(Fields& fields, JobView& job) {
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

Place place_in(const json::value& value, const std::string& path, Mistakes& mistakes) {
  Fields fields(value, path, "a place", mistakes);
  Place place;
  place.run = fields.number32("run");
  place.gpu = fields.number32("gpu").value_or(0);
  place.start = fields.number32("start").value_or(0);
  place.profile = fields.text("profile");
  place.mig_uuid = fields.text("uuid");
  place.how = fields.text("how");
  place.result = fields.text("result");
  place.reason = fields.text("reason");
  place.finished = fields.number("finished", {0, kMost}).value_or(0);
  place.cut = fields.number("cut", {0, kMost}).value_or(0);
  place.started = fields.wall("started");
  place.ended = fields.wall("ended");
  return place;
}

json::value place_json(const Place& place) {
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

json::array places_json(const std::vector<Place>& places) {
  json::array array;
  for (const Place& place : places) array.push_back(place_json(place));
  return array;
}

void read_course(Fields& fields, JobView& job) {
  job.state = static_cast<JobState>(fields.word("state", kStateWords).value_or(1));
  job.reason = fields.text("reason");
  job.exit_code = integer(fields, "exit_code");
  job.exit_signal = integer(fields, "exit_signal");
  job.restarts = fields.number32("restarts").value_or(0);
  job.submitted = fields.wall("submitted").value_or(WallTime{});
  job.started = fields.wall("started");
  job.ended = fields.wall("ended");
  job.moving = fields.flag("moving").value_or(false);
}

}  // namespace

json::value to_json(const JobView& job) {
  return json::object{{"id", job.id},
                      {"name", text_or_null(name_for(job.request))},
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
                      {"places", places_json(job.places)},
                      {"outline", job.outline},
                      {"request", to_json(request_for(job))}};
}

JobView view_in(const json::value& document, const std::string& path, Mistakes& mistakes) {
  Fields fields(document, path, "a job", mistakes);
  JobView job;
  job.id = fields.number("id", {0, kMost}).value_or(0);
  fields.require("id");
  fields.require("state");
  job.user = fields.text("user");
  job.uid = fields.number32("uid").value_or(0);
  job.outline = fields.flag("outline").value_or(false);
  if (const json::value* request = fields.value("request")) {
    Fields asked(*request, fields.path_of("request"), "a job", mistakes);
    job.request = request_in(asked, mistakes);
  }
  job.request.name = fields.text("name");
  read_place(fields, job);
  read_course(fields, job);
  fields.each("places", [&](const json::value& value, const std::string& at) {
    job.places.push_back(place_in(value, at, mistakes));
  });
  return job;
}

Result<JobView> read_job_view(const json::value& document) {
  Mistakes mistakes;
  JobView job = view_in(document, "", mistakes);
  if (mistakes.first()) return std::unexpected(*mistakes.first());
  return job;
}

}  // namespace tangram::api
