// JSON as we print it, to a screen or a file: keys in the order they were added, numbers as people
// write them (0.2917, not 2.917E-1), and lines broken only where a value is too long for one. One
// rule: values are built with Boost.JSON; only the writing is ours.
#pragma once

#include <string>

#include <boost/json/value.hpp>

namespace tangram::files {

// On one line, appended to `out`.
void append_json(std::string& out, const boost::json::value& value);

// For a file or a screen: what does not fit a line gets a line per element.
[[nodiscard]] std::string json_text(const boost::json::value& value);

}  // namespace tangram::files
