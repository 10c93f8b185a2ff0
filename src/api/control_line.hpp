// ControlLine: what a client says in one line on the control socket of a shim or an endpoint: a
// JSON object whose "do" names what is wanted. One rule: what is wrong with a line is one sentence,
// which is the answer to it.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/error.hpp"

namespace tangram::api {

class ControlLine {
 public:
  [[nodiscard]] static Result<ControlLine> parse(std::string_view line);

  [[nodiscard]] std::string_view verb() const { return words_.at("do").get_string(); }
  // Null: not there.
  [[nodiscard]] const boost::json::value* find(std::string_view key) const {
    return words_.if_contains(key);
  }
  [[nodiscard]] Result<std::int64_t> number(std::string_view key, std::int64_t lowest,
                                            std::int64_t highest) const;

 private:
  explicit ControlLine(boost::json::object words) : words_(std::move(words)) {}

  boost::json::object words_;
};

}  // namespace tangram::api
