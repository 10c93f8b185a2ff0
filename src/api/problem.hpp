// Problem: an error on the wire, as RFC 9457 has it (application/problem+json). One rule: the
// detail is a sentence for people that says what to do; the status and the type are for programs.
#pragma once

#include <string>

#include <boost/json/value.hpp>

#include "base/error.hpp"

namespace tangram::api {

struct Problem {
  int status = 500;
  std::string type;  // "urn:tangram:unknown-profile"; one word per kind, documented
  std::string title;
  std::string detail;
};

[[nodiscard]] boost::json::value to_json(const Problem& problem);
[[nodiscard]] Result<Problem> read_problem(const boost::json::value& document);

}  // namespace tangram::api
