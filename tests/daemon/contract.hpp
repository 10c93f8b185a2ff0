// docs/openapi.json as the tests of the daemon hold it against the program. It exists so that not
// only the test of the contract but every question of every test is held against it. One rule: an
// answer that the document does not describe is a mistake of one of the two.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

namespace tangram::tests {

[[nodiscard]] const boost::json::object& document();
[[nodiscard]] std::string lower(std::string_view word);

// The path of the document that a target has the form of, as "/v1/jobs/{id}".
[[nodiscard]] std::optional<std::string> pattern_of(std::string_view target);
// What the document says of an answer; nothing if it has no such answer.
[[nodiscard]] const boost::json::object* described(const std::string& method,
                                                   const std::string& pattern, int status);
// Why the document does not have this answer; empty if it does. With a content type, that too.
[[nodiscard]] std::string undocumented(const std::string& method, const std::string& target,
                                       int status, std::string_view type = {});

}  // namespace tangram::tests
