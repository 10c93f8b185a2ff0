// Whether a Model and the naive reference say the same of one layout. A text rather than test
// assertions, so that exhaustive tests and random properties (which shrink) can both use it.
// One rule: every question that a Model answers about an occupancy is asked here.
#pragma once

#include <optional>
#include <string>

#include "mig/model.hpp"
#include "tests/mig/naive.hpp"

namespace tangram::naive {

[[nodiscard]] mig::ProfileIndex index_of(int profile);
[[nodiscard]] mig::Placement placement_of(Piece piece);
[[nodiscard]] mig::Occupancy occupancy_of(const mig::Model& model, const Pieces& pieces);

// The first question on which they differ and both answers; nothing if there is none.
[[nodiscard]] std::optional<std::string> disagreement(const mig::Model& model,
                                                      const Pieces& pieces);

}  // namespace tangram::naive
