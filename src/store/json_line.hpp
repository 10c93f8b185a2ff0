// Compact JSON on one line, for the tables. Private to the store. Invalid UTF-8 in strings is
// preserved, because users may have submitted it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

namespace tangram::store {

[[nodiscard]] std::string json_line(const boost::json::value& value);
// nullopt if the text is not JSON.
[[nodiscard]] std::optional<boost::json::value> parse_line(std::string_view text);

}  // namespace tangram::store
