// The start that NVIDIA's driver chooses for an instance without a given placement. The rule is
// inferred from observations (the choice is made in closed firmware): the free legal start that
// leaves the most legal placements over all profiles, the lowest on ties. Two observations are
// known not to fit: three 1g.24gb on a GH200 96GB went to 4, 0, 2 (rule: 6, 4, 0), and an R450-era
// listing put the first 3g of an A100 at 0 (rule: 4). For the baselines and the emulator.
#pragma once

#include <optional>

#include "mig/model.hpp"

namespace tangram::mig {

[[nodiscard]] std::optional<int> driver_start(const Model& model, Occupancy occupancy,
                                              ProfileIndex profile);

}  // namespace tangram::mig
