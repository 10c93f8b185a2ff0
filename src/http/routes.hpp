// What the daemon answers over HTTP: a table of methods and paths, each with the function that
// makes the answer. One rule: a route knows the daemon through its Doors only.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "http/exchange.hpp"

namespace tangram::http {

using Handler = Outcome (*)(const Doors& doors, const Request& request);

// What a token must be good for. Whether its user may is another question, and the daemon's.
enum class Needs : std::uint8_t { kNothing, kRead, kWrite, kAdmin };

struct Route {
  std::string_view method;
  std::string_view pattern;  // "/v1/jobs/{id}"; {id} is a number
  Needs needs;
  Handler handler;
  Concern concern = Concern::kAll;
};
[[nodiscard]] std::span<const Route> routes();

// The answer to a request, also to one that no route wants. HEAD is answered as GET; the connection
// leaves the body out. Whoever shows a token is from here on the one it stands for.
[[nodiscard]] Outcome answer(const Doors& doors, Request& request);

// Why the one who asks may not, as far as the header tells: it can be said before the body is read.
// Nothing: he may, and answer() does not ask again.
[[nodiscard]] std::optional<Response> refusal(const Doors& doors, Request& request);

// How large the body of such a request may be.
[[nodiscard]] std::size_t largest_body(std::string_view method, std::string_view path,
                                       std::size_t of_a_job);

}  // namespace tangram::http
