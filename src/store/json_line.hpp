// JSON on one line for the tables: written as compactly as it gets, read exactly. Private to the
// store. One rule: bytes that are no UTF-8 pass unharmed (a user may have typed them).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

namespace tangram::store {

[[nodiscard]] std::string json_line(const boost::json::value& value);
// Nothing if it is no JSON.
[[nodiscard]] std::optional<boost::json::value> parse_line(std::string_view text);

}  // namespace tangram::store
