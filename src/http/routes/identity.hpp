// Authentication of a request by its bearer token. The secret is passed to
// ApiHandlers::authenticate and nowhere else; in particular it never appears in a message.
#pragma once

#include <string>

#include "http/routes/exchange.hpp"
#include "http/routes/routes.hpp"

namespace tangram::http {

// Authenticates the request and checks the token's scope. Sets request.caller to the user of the
// token. TCP clients need a token unless `needs` is kNothing; on the unix socket it is optional.
// Fails with 401 or 403.
[[nodiscard]] Answer<void> authenticate(const ApiHandlers& handlers, Request& request, Needs needs);
// Whether the caller is a TCP client that has not shown a valid token.
[[nodiscard]] inline bool is_unauthenticated(const Caller& caller) {
  return !caller.address.empty() && !caller.token;
}
// 503: the lookup of the token's user did not finish in time.
[[nodiscard]] Response identity_unavailable();
// A 401 response has the WWW-Authenticate header that RFC 9110 requires.
[[nodiscard]] Response unauthorized(const api::Problem& problem);

// Returns the SHA-256 of a body in hexadecimal.
[[nodiscard]] std::string fingerprint_of(const std::string& body);

}  // namespace tangram::http
