// `tangram mig frag --jsonl`: the cost of many layouts, for scripts. A row of standard input is
// {"model": …, "placements": [{"profile": …, "start": …}]}; it is printed with "cost" added, in
// the order model, placements, cost, whatever else it had. One rule: all rows or none; the first
// bad row is an error that names its line.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace tangram::cli {

// All of standard input, answered at the end of `out`.
[[nodiscard]] Result<void> add_costs_to_rows(std::string& out);

// The same for text; `source` names it in messages.
[[nodiscard]] Result<void> add_costs_to_rows(std::string_view rows, std::string_view source,
                                             std::string& out);

}  // namespace tangram::cli
