// What the daemon answers over HTTP: a table of methods and paths, each with the function that
// makes the answer. One rule: a route knows the daemon through its Doors only.
#pragma once

#include <span>
#include <string_view>

#include "http/exchange.hpp"

namespace tangram::http {

using Handler = Outcome (*)(const Doors& doors, const Request& request);

struct Route {
  std::string_view method;
  std::string_view pattern;  // "/v1/jobs/{id}"; {id} is the number of a job
  Handler handler;
};
[[nodiscard]] std::span<const Route> routes();

// The answer to a request, also to one that no route wants. HEAD is answered as GET; the connection
// leaves the body out.
[[nodiscard]] Outcome answer(const Doors& doors, Request& request);

}  // namespace tangram::http
