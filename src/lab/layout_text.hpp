// The text of a static node: "4g.20gb 3g.20gb | 2g.10gb 1g.5gb | …".
#pragma once

#include <string>

#include "sim/simulate.hpp"

namespace tangram::lab {

[[nodiscard]] std::string layout_text(const sim::Setting& setting);

}  // namespace tangram::lab
