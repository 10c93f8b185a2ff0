// The functions behind the table in routes.cpp, and what they share. Private to the routes. One
// rule: a handler calls a door without asking whether it is there; the router answers for one that
// is not.
#pragma once

#include <utility>
#include <vector>

#include <boost/json/array.hpp>

#include "http/exchange.hpp"

namespace tangram::http {

// routes_jobs.cpp
Outcome post_job(const Doors& doors, const Request& request);
Outcome get_jobs(const Doors& doors, const Request& request);
Outcome get_job(const Doors& doors, const Request& request);
Outcome post_cancel(const Doors& doors, const Request& request);
Outcome post_hold(const Doors& doors, const Request& request);
Outcome post_release(const Doors& doors, const Request& request);
Outcome post_signal(const Doors& doors, const Request& request);
Outcome get_wait(const Doors& doors, const Request& request);
Outcome get_logs(const Doors& doors, const Request& request);
// routes_moves.cpp
Outcome post_move(const Doors& doors, const Request& request);
Outcome get_defrag(const Doors& doors, const Request& request);
// routes_why.cpp
Outcome get_explanation(const Doors& doors, const Request& request);
Outcome get_what_if(const Doors& doors, const Request& request);
// routes_leases.cpp
Outcome post_lease(const Doors& doors, const Request& request);
Outcome get_leases(const Doors& doors, const Request& request);
Outcome delete_leases(const Doors& doors, const Request& request);
Outcome get_lease(const Doors& doors, const Request& request);
Outcome post_renew(const Doors& doors, const Request& request);
Outcome delete_lease(const Doors& doors, const Request& request);
// routes_node.cpp
Outcome get_gpus(const Doors& doors, const Request& request);
Outcome post_cordon(const Doors& doors, const Request& request);
Outcome post_uncordon(const Doors& doors, const Request& request);
Outcome post_drain(const Doors& doors, const Request& request);
Outcome get_tuning(const Doors& doors, const Request& request);
Outcome patch_tuning(const Doors& doors, const Request& request);
Outcome get_status(const Doors& doors, const Request& request);
Outcome get_health(const Doors& doors, const Request& request);
Outcome get_ready(const Doors& doors, const Request& request);
Outcome get_metrics(const Doors& doors, const Request& request);
// routes_past.cpp
Outcome get_history(const Doors& doors, const Request& request);
Outcome get_usage(const Doors& doors, const Request& request);
Outcome get_events(const Doors& doors, const Request& request);
// routes_tokens.cpp
Outcome post_token(const Doors& doors, const Request& request);
Outcome get_tokens(const Doors& doors, const Request& request);
Outcome delete_token(const Doors& doors, const Request& request);

// The body as JSON, if it is said to be (json_body.cpp).
[[nodiscard]] Answer<boost::json::value> json_body(const Request& request);
[[nodiscard]] Response bad_request(const Error& error);
// `limit`: as many as a page may have.
[[nodiscard]] Result<std::size_t> limit_in(const Query& query);

template <class T>
[[nodiscard]] Response response_of(const Answer<T>& answer, int status = 200) {
  return answer ? json_response(to_json(*answer), status) : problem_response(answer.error());
}
template <class T>
[[nodiscard]] Response response_of(const Answer<std::vector<T>>& answer) {
  if (!answer) return problem_response(answer.error());
  boost::json::array list;
  list.reserve(answer->size());
  for (const T& element : *answer) list.push_back(to_json(element));
  return json_response(std::move(list));
}

// What a door will reply, as a response.
template <class T>
[[nodiscard]] Reply<T> respond_with(Respond respond, int status = 200) {
  return [respond = std::move(respond), status](const Answer<T>& answer) {
    respond(response_of(answer, status));
  };
}
// An answer that a door gives later and that nobody can lose interest in.
[[nodiscard]] inline Later later(std::function<void(Respond)> ask) {
  return {[ask = std::move(ask)](Respond respond) {
            ask(std::move(respond));
            return nullptr;
          },
          std::nullopt,
          {}};
}

}  // namespace tangram::http
