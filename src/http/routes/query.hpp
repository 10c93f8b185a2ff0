// Query: the query string of a request's target, read by name. Unknown, repeated and malformed
// parameters are errors that name the parameter; nothing is ignored.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace tangram::http {

class Query {
 public:
  Query() = default;
  [[nodiscard]] static Result<Query> parse(std::string_view text);

  // Fails if there is a parameter with another name.
  [[nodiscard]] Result<void> allow_only(std::initializer_list<std::string> names) const;
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
  // True for "1", "true" and a name without a value; false for "0", "false" and if absent.
  [[nodiscard]] Result<bool> flag(std::string_view name) const;
  [[nodiscard]] Result<std::optional<std::uint64_t>> number(std::string_view name,
                                                            std::uint64_t max) const;

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

// A parsed request target in origin form ("/v1/jobs?all=1") or absolute form ("http://host/...").
struct Target {
  std::string path;
  Query query;
};
[[nodiscard]] Result<Target> parse_target(std::string_view target);

// Encodes a value for the query of an outgoing request.
[[nodiscard]] std::string percent_encoded(std::string_view text);

}  // namespace tangram::http
