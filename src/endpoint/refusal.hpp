// Refusal: a response that the endpoint itself makes, because there is no replica, or because the
// client's request or the replica's response is no good. One rule: it is the last thing on the
// connection.
#pragma once

#include <string>
#include <string_view>

namespace tangram::endpoint {

// `kind` names it for programs (urn:tangram:…), `detail` says to people what to do. `to_head`: it
// answers a HEAD request, so that its body is left out.
[[nodiscard]] std::string refusal(int status, std::string_view kind, std::string_view detail,
                                  bool to_head);

}  // namespace tangram::endpoint
