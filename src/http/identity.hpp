// Who asks: the token of a request, and what it is good for. One rule: a secret goes to the door
// that knows it and nowhere else, least of all into a message.
#pragma once

#include <string>

#include "http/exchange.hpp"
#include "http/routes.hpp"

namespace tangram::http {

// Puts whom the token stands for into request.caller. A caller on TCP must have one, unless nothing
// is needed; one on the unix socket may.
[[nodiscard]] Answer<void> identify(const Doors& doors, Request& request, Needs needs);
// He came over TCP, and has not said who he is.
[[nodiscard]] inline bool is_stranger(const Caller& caller) {
  return !caller.address.empty() && !caller.token;
}
// The token's user could not be found out in time.
[[nodiscard]] Response unsettled();
// 401 says how to do better, as RFC 9110 wants it.
[[nodiscard]] Response unauthorized(const api::Problem& problem);

// The SHA-256 of a body, in hexadecimal.
[[nodiscard]] std::string fingerprint_of(const std::string& body);

}  // namespace tangram::http
