// Readable JSON output for screens and files: keys in insertion order, decimal numbers (0.2917, not
// 2.917E-1), and line breaks only in values that do not fit on one line.
#pragma once

#include <string>

#include <boost/json/value.hpp>

namespace tangram::text {

// Appends the value to `out`, on one line.
void append_json(std::string& out, const boost::json::value& value);

// Pretty-prints the value: objects and arrays that do not fit on a line get a line per element.
[[nodiscard]] std::string json_text(const boost::json::value& value);

}  // namespace tangram::text
