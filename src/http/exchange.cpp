// See exchange.hpp.
#include "http/exchange.hpp"

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

bool is_wanted(const EventWish& wish, const StoredEvent& event) {
  if (wish.job && event.job != wish.job) return false;
  const auto fits = [&](std::string_view kind) {
    if (!event.kind.starts_with(kind)) return false;
    return event.kind.size() == kind.size() || event.kind[kind.size()] == '.';
  };
  return wish.kinds.empty() || std::ranges::any_of(wish.kinds, fits);
}

api::Problem problem(int status, std::string_view kind, std::string detail) {
  std::string title(kind);
  for (char& c : title) c = c == '-' ? ' ' : c;
  return {status, cat("urn:tangram:", kind), title, std::move(detail)};
}

}  // namespace tangram::http
