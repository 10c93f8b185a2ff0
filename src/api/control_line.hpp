// ControlLine: one line that a client sends on the control socket of a shim or an endpoint: a JSON
// object whose "do" member is the command. Error messages are meant as the answer to the client.
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

  [[nodiscard]] std::string_view verb() const { return fields_.at("do").get_string(); }
  // Null if the key is absent.
  [[nodiscard]] const boost::json::value* find(std::string_view key) const {
    return fields_.if_contains(key);
  }
  // Fails if the value is absent, not an integer or out of range.
  [[nodiscard]] Result<std::int64_t> number(std::string_view key, std::int64_t lowest,
                                            std::int64_t highest) const;

 private:
  explicit ControlLine(boost::json::object fields) : fields_(std::move(fields)) {}

  boost::json::object fields_;
};

}  // namespace tangram::api
