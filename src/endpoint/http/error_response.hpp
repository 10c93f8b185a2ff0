// Error responses that the endpoint generates itself: no replica is available, or the client's
// request or the replica's response is malformed. They carry "Connection: close", so the connection
// must be closed after one.
#pragma once

#include <string>
#include <string_view>

namespace tangram::endpoint {

// Returns the whole response, with a problem+json body (RFC 9457). `kind`: the problem type for
// programs (urn:tangram:…). `detail`: cause and remedy for people. `to_head`: the request was HEAD,
// so the body is left out.
[[nodiscard]] std::string error_response(int status, std::string_view kind, std::string_view detail,
                                         bool to_head);

}  // namespace tangram::endpoint
