// See exchange.hpp.
#include "http/exchange.hpp"

#include <boost/json/serialize.hpp>

#include "base/text.hpp"

namespace tangram::http {

Response json_response(const boost::json::value& value, int status) {
  return {status, kJsonType, boost::json::serialize(value) + '\n', {}};
}

Response problem_response(const api::Problem& problem) {
  return {problem.status, kProblemType, boost::json::serialize(to_json(problem)) + '\n', {}};
}

api::Problem problem(int status, std::string_view kind, std::string detail) {
  std::string title(kind);
  for (char& c : title) c = c == '-' ? ' ' : c;
  return {status, cat("urn:tangram:", kind), title, std::move(detail)};
}

}  // namespace tangram::http
