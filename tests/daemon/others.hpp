// Somebody else who calls the daemon, for tests that are run by root: a process of another user
// makes one request.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>

#include <boost/json/value.hpp>

namespace tangram::tests {

class Node;

inline constexpr uid_t kNobody = 65534;

// The node's folder, open to others.
void let_others_in(const Node& node);
// One request made by somebody else: the status and the answer; 0 if there was none.
[[nodiscard]] std::pair<int, boost::json::value> ask_as(
    uid_t uid, const Node& node, const std::string& method, const std::string& target,
    const std::optional<boost::json::value>& body = std::nullopt);

}  // namespace tangram::tests
