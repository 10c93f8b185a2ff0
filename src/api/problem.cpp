// The JSON of a Problem; see problem.hpp.
#include "api/problem.hpp"

#include <boost/json/object.hpp>

#include "api/fields.hpp"

namespace tangram::api {

boost::json::value to_json(const Problem& problem) {
  return boost::json::object{{"type", problem.type.empty() ? "about:blank" : problem.type},
                             {"title", problem.title},
                             {"status", problem.status},
                             {"detail", problem.detail}};
}

Result<Problem> read_problem(const boost::json::value& document) {
  FieldErrors errors;
  Fields fields(document, "", "a problem", errors);
  Problem problem;
  problem.type = fields.text("type");
  problem.title = fields.text("title");
  problem.status = static_cast<int>(fields.number("status", {100, 599}).value_or(500));
  problem.detail = fields.text("detail");
  if (errors.first()) return std::unexpected(*errors.first());
  return problem;
}

}  // namespace tangram::api
