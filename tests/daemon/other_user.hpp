// Requests to the daemon as another user, for tests that root runs: a child process with that uid
// makes one request over the socket.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>

#include <boost/json/value.hpp>

namespace tangram::tests {

class Node;

inline constexpr uid_t kNobody = 65534;  // the user "nobody"

// Lets other users reach the socket in the node's folder.
void allow_other_users(const Node& node);
// One request as that user: status and body; status 0 if there was no response.
[[nodiscard]] std::pair<int, boost::json::value> call_as(
    uid_t uid, const Node& node, const std::string& method, const std::string& target,
    const std::optional<boost::json::value>& body = std::nullopt);

}  // namespace tangram::tests
