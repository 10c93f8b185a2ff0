// The functions in the route table (routes.cpp) and their shared helpers. Private to the routes.
// They call an ApiHandlers member without checking whether it is set: the router answers 501 if
// not.
#pragma once

#include <utility>
#include <vector>

#include <boost/json/array.hpp>

#include "http/routes/exchange.hpp"

namespace tangram::http {

// routes_jobs.cpp
Outcome post_job(const ApiHandlers& handlers, const Request& request);
Outcome get_jobs(const ApiHandlers& handlers, const Request& request);
Outcome get_job(const ApiHandlers& handlers, const Request& request);
Outcome post_cancel(const ApiHandlers& handlers, const Request& request);
Outcome post_hold(const ApiHandlers& handlers, const Request& request);
Outcome post_release(const ApiHandlers& handlers, const Request& request);
Outcome post_requeue(const ApiHandlers& handlers, const Request& request);
Outcome post_signal(const ApiHandlers& handlers, const Request& request);
Outcome get_wait(const ApiHandlers& handlers, const Request& request);
Outcome get_logs(const ApiHandlers& handlers, const Request& request);
// routes_arrays.cpp
Outcome get_array(const ApiHandlers& handlers, const Request& request);
Outcome post_array_cancel(const ApiHandlers& handlers, const Request& request);
Outcome post_array_hold(const ApiHandlers& handlers, const Request& request);
Outcome post_array_release(const ApiHandlers& handlers, const Request& request);
// routes_moves.cpp
Outcome post_move(const ApiHandlers& handlers, const Request& request);
Outcome get_defrag(const ApiHandlers& handlers, const Request& request);
// routes_explain.cpp
Outcome get_explanation(const ApiHandlers& handlers, const Request& request);
Outcome get_what_if(const ApiHandlers& handlers, const Request& request);
// routes_leases.cpp
Outcome post_lease(const ApiHandlers& handlers, const Request& request);
Outcome get_leases(const ApiHandlers& handlers, const Request& request);
Outcome delete_leases(const ApiHandlers& handlers, const Request& request);
Outcome get_lease(const ApiHandlers& handlers, const Request& request);
Outcome post_renew(const ApiHandlers& handlers, const Request& request);
Outcome delete_lease(const ApiHandlers& handlers, const Request& request);
// routes_node.cpp
Outcome get_gpus(const ApiHandlers& handlers, const Request& request);
Outcome post_cordon(const ApiHandlers& handlers, const Request& request);
Outcome post_uncordon(const ApiHandlers& handlers, const Request& request);
Outcome post_drain(const ApiHandlers& handlers, const Request& request);
Outcome get_tuning(const ApiHandlers& handlers, const Request& request);
Outcome patch_tuning(const ApiHandlers& handlers, const Request& request);
Outcome get_orphans(const ApiHandlers& handlers, const Request& request);
Outcome delete_orphan(const ApiHandlers& handlers, const Request& request);
Outcome get_status(const ApiHandlers& handlers, const Request& request);
Outcome get_health(const ApiHandlers& handlers, const Request& request);
Outcome get_ready(const ApiHandlers& handlers, const Request& request);
Outcome get_metrics(const ApiHandlers& handlers, const Request& request);
// routes_history.cpp
Outcome get_history(const ApiHandlers& handlers, const Request& request);
Outcome get_usage(const ApiHandlers& handlers, const Request& request);
Outcome get_events(const ApiHandlers& handlers, const Request& request);
// routes_tokens.cpp
Outcome post_token(const ApiHandlers& handlers, const Request& request);
Outcome get_tokens(const ApiHandlers& handlers, const Request& request);
Outcome delete_token(const ApiHandlers& handlers, const Request& request);

// Parses the body as JSON (json_body.cpp). Fails with 415 if the Content-Type is another one, and
// with 400 if the body is not valid JSON or has too many values.
[[nodiscard]] Answer<boost::json::value> json_body(const Request& request);
[[nodiscard]] Response bad_request(const Error& error);
// Returns the page size from the parameter `limit`, or the default.
[[nodiscard]] Result<std::size_t> page_size_in(const Query& query,
                                               std::size_t page_size = kMaxPageSize);

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

// Adapts `respond` to the Reply of a handler.
template <class T>
[[nodiscard]] Reply<T> respond_with(Respond respond, int status = 200) {
  return [respond = std::move(respond), status](const Answer<T>& answer) {
    respond(response_of(answer, status));
  };
}
// A deferred response without timeout whose operation cannot be cancelled.
[[nodiscard]] inline DeferredResponse defer(std::function<void(Respond)> start) {
  return {[start = std::move(start)](Respond respond) {
            start(std::move(respond));
            return nullptr;
          },
          std::nullopt,
          {}};
}

}  // namespace tangram::http
