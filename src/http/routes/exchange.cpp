// See exchange.hpp.
#include "http/routes/exchange.hpp"

#include <algorithm>

#include <boost/json/serialize.hpp>

#include "base/text.hpp"

namespace tangram::http {

Response json_response(const boost::json::value& value, int status) {
  return {status, kJsonType, boost::json::serialize(value) + '\n', {}};
}

Response problem_response(const api::Problem& problem) {
  return {problem.status, kProblemType, boost::json::serialize(to_json(problem)) + '\n', {}};
}

bool is_wanted(const EventStreamRequest& request, const StoredEvent& event) {
  if (request.job && event.job != request.job) return false;
  const auto matches = [&](std::string_view kind) {
    if (!event.kind.starts_with(kind)) return false;
    return event.kind.size() == kind.size() || event.kind[kind.size()] == '.';
  };
  return request.kinds.empty() || std::ranges::any_of(request.kinds, matches);
}

api::Problem problem(int status, std::string_view kind, std::string detail) {
  std::string title(kind);
  for (char& c : title) c = c == '-' ? ' ' : c;
  return {status, cat("urn:tangram:", kind), title, std::move(detail)};
}

}  // namespace tangram::http
