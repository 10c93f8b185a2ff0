// Where the driver's report of a GPU and our built-in table of its model disagree. The driver is
// believed; the list is for the log, because a difference means that simulations of this GPU were
// about another one. One rule: what either side does not know is no difference.
#pragma once

#include <string>
#include <vector>

#include "mig/model.hpp"

namespace tangram::device {

// One sentence for each difference, in the order of the table.
[[nodiscard]] std::vector<std::string> differences(const mig::ModelSpec& table,
                                                   const mig::ModelSpec& reported);

}  // namespace tangram::device
