// Routes: the table of methods and paths of the API, each with the function that handles it. Routes
// call the daemon through ApiHandlers only.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "http/routes/exchange.hpp"

namespace tangram::http {

using Handler = Outcome (*)(const ApiHandlers& handlers, const Request& request);

// The token scope that a route requires. Whether the user has the rights is checked by the daemon.
enum class Needs : std::uint8_t { kNothing, kRead, kWrite, kAdmin };

struct Route {
  std::string_view method;
  std::string_view pattern;  // "/v1/jobs/{id}"; {id} is a number
  Handler handler;
  Needs needs;
  DurabilityNeed durability = DurabilityNeed::kAll;
};
[[nodiscard]] std::span<const Route> routes();

// Handles a request; 404 or 405 if no route matches. HEAD is handled like GET, and the connection
// omits the body. Authenticates the request unless check_access() has done so.
[[nodiscard]] Outcome answer(const ApiHandlers& handlers, Request& request);

// Finds the route and authenticates the request from its header alone, so that a request can be
// rejected before its body is read. Returns the response that rejects it; nullopt if it is
// accepted, which is recorded in request.is_authorized.
[[nodiscard]] std::optional<Response> check_access(const ApiHandlers& handlers, Request& request);

// Returns the limit for the body of a request: `max_job_size` for a job, less for others.
[[nodiscard]] std::size_t max_body_size(std::string_view method, std::string_view path,
                                        std::size_t max_job_size);

}  // namespace tangram::http
