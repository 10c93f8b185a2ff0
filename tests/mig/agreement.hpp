// Compares a Model with the naive reference on one layout, over all queries about an occupancy.
// Returns text instead of asserting, so that exhaustive tests and random properties (which shrink)
// can both use it.
#pragma once

#include <optional>
#include <string>

#include "mig/model.hpp"
#include "tests/mig/naive.hpp"

namespace tangram::naive {

[[nodiscard]] mig::ProfileIndex index_of(int profile);
[[nodiscard]] mig::Placement placement_of(Piece piece);
[[nodiscard]] mig::Occupancy occupancy_of(const mig::Model& model, const Pieces& pieces);

// The first query whose results differ, with both results; nothing if there is none.
[[nodiscard]] std::optional<std::string> disagreement(const mig::Model& model,
                                                      const Pieces& pieces);

}  // namespace tangram::naive
