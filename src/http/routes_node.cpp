// The routes of the node; see routes.cpp for the table.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "http/handlers.hpp"

namespace tangram::http {

namespace json = boost::json;

Outcome get_gpus(const Doors& doors, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  const auto gpus = doors.gpus(request.caller);
  if (!gpus) return problem_response(gpus.error());
  json::array list;
  for (const api::GpuView& gpu : *gpus) list.push_back(to_json(gpu));
  return json_response(std::move(list));
}

Outcome get_status(const Doors& doors, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  const auto status = doors.status(request.caller);
  return status ? json_response(to_json(*status)) : problem_response(status.error());
}

// That the loop turns and answers is all that is asked here.
Outcome get_health(const Doors&, const Request&) {
  return json_response(json::object{{"status", "ok"}});
}

}  // namespace tangram::http
