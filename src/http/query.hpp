// Query: the part of a request's target after the question mark, read by name. One rule: what is
// not known, given twice or not readable is an error that names it; nothing is ignored.
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

  [[nodiscard]] Result<void> allow_only(std::initializer_list<std::string> names) const;
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
  // "1", "true" or nothing after the name; "0" or "false"; absent is false.
  [[nodiscard]] Result<bool> flag(std::string_view name) const;
  [[nodiscard]] Result<std::optional<std::uint64_t>> number(std::string_view name,
                                                            std::uint64_t highest) const;

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

// A target taken apart: "/v1/jobs?all=1", or the same after "http://host".
struct Target {
  std::string path;
  Query query;
};
[[nodiscard]] Result<Target> parse_target(std::string_view target);

// For the query of a request that we make.
[[nodiscard]] std::string percent_encoded(std::string_view text);

}  // namespace tangram::http
