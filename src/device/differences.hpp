// The differences between the driver's report of a GPU and the built-in table of its model, for the
// log. The driver's values are used; a difference means that simulations used another geometry. A
// value that either side does not know is no difference.
#pragma once

#include <string>
#include <vector>

#include "mig/model.hpp"

namespace tangram::device {

// One sentence per difference, in the order of the table.
[[nodiscard]] std::vector<std::string> differences(const mig::ModelSpec& table,
                                                   const mig::ModelSpec& reported);

}  // namespace tangram::device
