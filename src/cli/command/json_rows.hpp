// Reading JSON from standard input, as one value or as JSON Lines. Errors name the source, the line
// and the expected form.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "base/error.hpp"

namespace tangram::cli {

// Reads standard input to its end.
[[nodiscard]] Result<std::string> read_standard_input();

[[nodiscard]] bool is_blank(std::string_view text);

// Calls answer(row) for each line of `rows` that is not blank. Stops at the first error and returns
// it, prefixed with "source:line: ".
[[nodiscard]] Result<void> for_each_row(
    std::string_view rows, std::string_view source,
    const std::function<Result<void>(std::string_view row)>& answer);

// Parses one JSON object. `form` describes the expected form and ends every error message.
[[nodiscard]] Result<boost::json::object> parse_object(std::string_view text,
                                                       std::string_view form);

inline std::string_view view(const boost::json::string& text) { return {text.data(), text.size()}; }

}  // namespace tangram::cli
