// Checks the daemon's responses against docs/openapi.json. Node::call() uses it, so that every
// request of every test in this folder is checked and not only those of openapi_test.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

namespace tangram::tests {

[[nodiscard]] const boost::json::object& openapi_document();
[[nodiscard]] std::string lower(std::string_view text);

// The documented path that a request target matches, e.g. "/v1/jobs/{id}".
[[nodiscard]] std::optional<std::string> pattern_of(std::string_view target);
// The documented response of an operation; nullptr if there is none for that status.
[[nodiscard]] const boost::json::object* documented_response(const std::string& method,
                                                             const std::string& pattern,
                                                             int status);
// Why this response is not documented; empty if it is. `content_type` is checked too if given.
[[nodiscard]] std::string undocumented_reason(const std::string& method, const std::string& target,
                                              int status, std::string_view content_type = {});

}  // namespace tangram::tests
