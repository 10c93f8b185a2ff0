// The routes of the node; see routes.cpp for the table.
#include <limits>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.hpp"
#include "http/handlers.hpp"

namespace tangram::http {
namespace {

namespace json = boost::json;

Outcome change(const Doors& doors, const Request& request, GpuDeed deed) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  if (request.id > std::numeric_limits<std::uint32_t>::max()) {
    return problem_response(problem(404, "no-such-gpu", cat("there is no GPU ", request.id, ".")));
  }
  const auto gpu = static_cast<std::uint32_t>(request.id);
  return later([&doors, caller = request.caller, gpu, deed](Respond respond) {
    doors.change_gpu(caller, gpu, deed, respond_with<api::GpuView>(std::move(respond), 202));
  });
}

// "threshold=0.5 queue=fcfs", also of a change that is refused.
std::string words_of(const json::value& change) {
  std::string words;
  for (const auto& [key, value] : change.as_object()) {
    const std::string text =
        value.is_string() ? std::string(value.get_string().c_str()) : json::serialize(value);
    words += cat(words.empty() ? "" : " ", std::string_view(key), "=", text);
  }
  return words;
}

}  // namespace

Outcome get_gpus(const Doors& doors, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  return response_of(doors.gpus(request.caller));
}

Outcome post_cordon(const Doors& doors, const Request& request) {
  return change(doors, request, GpuDeed::kCordon);
}

Outcome post_uncordon(const Doors& doors, const Request& request) {
  return change(doors, request, GpuDeed::kUncordon);
}

Outcome post_drain(const Doors& doors, const Request& request) {
  return change(doors, request, GpuDeed::kDrain);
}

Outcome get_tuning(const Doors& doors, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  return response_of(doors.tuning(request.caller));
}

Outcome patch_tuning(const Doors& doors, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  const auto document = json_body(request);
  if (!document) return problem_response(document.error());
  const auto change = api::read_tuning_change(*document);
  if (!change) {
    return problem_response(
        problem(400, "bad-tuning", cat("the tuning: ", change.error().message)));
  }
  return later([&doors, caller = request.caller, change = *change](const Respond& respond) {
    doors.tune(caller, change, [respond, change](const Answer<api::TuningView>& tuning) {
      Response response = response_of(tuning);
      response.what = words_of(to_json(change));
      respond(std::move(response));
    });
  });
}

Outcome get_status(const Doors& doors, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  return response_of(doors.status(request.caller));
}

// That the loop turns and answers is all that is asked here.
Outcome get_health(const Doors&, const Request&) {
  return json_response(json::object{{"status", "ok"}});
}

Outcome get_ready(const Doors& doors, const Request&) {
  const auto ready = doors.ready();
  return ready ? json_response(json::object{{"status", "ok"}}) : problem_response(ready.error());
}

Outcome get_metrics(const Doors& doors, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  auto metrics = doors.metrics(request.caller);
  if (!metrics) return problem_response(metrics.error());
  return Response{200, "text/plain; version=0.0.4", std::move(*metrics), {}};
}

}  // namespace tangram::http
