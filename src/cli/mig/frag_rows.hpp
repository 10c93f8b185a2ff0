// `tangram mig frag --jsonl`: the cost of many layouts. Each input row
// {"model": …, "placements": [{"profile": …, "start": …}]} is printed with "cost" added; other keys
// follow unchanged. The first bad row is an error that names its line, and nothing is printed.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace tangram::cli {

// Reads standard input and appends the answered rows to `out`.
[[nodiscard]] Result<void> add_costs_to_rows(std::string& out);

// The same for `rows`; `source` names the input in messages.
[[nodiscard]] Result<void> add_costs_to_rows(std::string_view rows, std::string_view source,
                                             std::string& out);

}  // namespace tangram::cli
