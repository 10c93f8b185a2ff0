// Problem: an error on the wire (RFC 9457, application/problem+json). `detail` is for people: cause
// and remedy; `status` and `type` are for programs.
#pragma once

#include <string>

#include <boost/json/value.hpp>

#include "base/error.hpp"

namespace tangram::api {

struct Problem {
  int status = 500;
  std::string type;  // e.g. "urn:tangram:unknown-profile"; all are listed in docs/api.md
  std::string title;
  std::string detail;
};

[[nodiscard]] boost::json::value to_json(const Problem& problem);
[[nodiscard]] Result<Problem> read_problem(const boost::json::value& document);

}  // namespace tangram::api
