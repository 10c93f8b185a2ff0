// Reading JSON from standard input: as one value, or as rows, one value per line. One rule: an
// error names the source, the line and the form that is expected.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "base/error.hpp"

namespace tangram::cli {

// All of standard input.
[[nodiscard]] Result<std::string> all_of_standard_input();

[[nodiscard]] bool is_blank(std::string_view text);

// Calls answer(row) for each line that is not blank; its error gets "source:line: " in front.
[[nodiscard]] Result<void> for_each_row(
    std::string_view rows, std::string_view source,
    const std::function<Result<void>(std::string_view row)>& answer);

// One JSON object; the error ends with `form`, which says what is expected.
[[nodiscard]] Result<boost::json::object> parse_object(std::string_view text,
                                                       std::string_view form);

inline std::string_view view(const boost::json::string& text) { return {text.data(), text.size()}; }

}  // namespace tangram::cli
