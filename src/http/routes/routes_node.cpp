// The routes for GPUs, tuning, status and health; see routes.cpp for the table.
#include <limits>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.hpp"
#include "http/routes/route_handlers.hpp"

namespace tangram::http {
namespace {

namespace json = boost::json;

Outcome change(const ApiHandlers& handlers, const Request& request, GpuAction action) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  if (request.id > std::numeric_limits<std::uint32_t>::max()) {
    return problem_response(problem(404, "no-such-gpu", cat("GPU ", request.id, ": not found")));
  }
  const auto gpu = static_cast<std::uint32_t>(request.id);
  return defer([&handlers, caller = request.caller, gpu, action](Respond respond) {
    handlers.change_gpu(caller, gpu, action, respond_with<api::GpuView>(std::move(respond), 202));
  });
}

// "threshold=0.5 queue=fcfs", for the audit log.
std::string summary_of(const json::value& change) {
  std::string summary;
  for (const auto& [key, value] : change.as_object()) {
    const std::string text =
        value.is_string() ? std::string(value.get_string().c_str()) : json::serialize(value);
    summary += cat(summary.empty() ? "" : " ", std::string_view(key), "=", text);
  }
  return summary;
}

}  // namespace

Outcome get_gpus(const ApiHandlers& handlers, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  return response_of(handlers.gpus(request.caller));
}

Outcome post_cordon(const ApiHandlers& handlers, const Request& request) {
  return change(handlers, request, GpuAction::kCordon);
}

Outcome post_uncordon(const ApiHandlers& handlers, const Request& request) {
  return change(handlers, request, GpuAction::kUncordon);
}

Outcome post_drain(const ApiHandlers& handlers, const Request& request) {
  return change(handlers, request, GpuAction::kDrain);
}

Outcome get_orphans(const ApiHandlers& handlers, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  return response_of(handlers.orphans(request.caller));
}

Outcome delete_orphan(const ApiHandlers& handlers, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  return response_of(handlers.end_orphan(request.caller, request.id), 202);
}

Outcome get_tuning(const ApiHandlers& handlers, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  return response_of(handlers.tuning(request.caller));
}

Outcome patch_tuning(const ApiHandlers& handlers, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  const auto document = json_body(request);
  if (!document) return problem_response(document.error());
  const auto change = api::read_tuning_change(*document);
  if (!change) {
    return problem_response(
        problem(400, "bad-tuning", cat("invalid tuning: ", change.error().message)));
  }
  return defer([&handlers, caller = request.caller, change = *change](const Respond& respond) {
    handlers.tune(caller, change, [respond, change](const Answer<api::TuningView>& tuning) {
      Response response = response_of(tuning);
      response.what = summary_of(to_json(change));
      respond(std::move(response));
    });
  });
}

Outcome get_status(const ApiHandlers& handlers, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  return response_of(handlers.status(request.caller));
}

// Liveness: 200 if the event loop responds at all.
Outcome get_health(const ApiHandlers&, const Request&) {
  return json_response(json::object{{"status", "ok"}});
}

Outcome get_ready(const ApiHandlers& handlers, const Request&) {
  const auto ready = handlers.ready();
  if (!ready) return problem_response(ready.error());
  return json_response(json::object{{"status", ready->empty() ? "ok" : "degraded"},
                                    {"troubles", json::array(ready->begin(), ready->end())}});
}

Outcome get_metrics(const ApiHandlers& handlers, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  auto metrics = handlers.metrics(request.caller);
  if (!metrics) return problem_response(metrics.error());
  return Response{200, "text/plain; version=0.0.4", std::move(*metrics), {}};
}

}  // namespace tangram::http
