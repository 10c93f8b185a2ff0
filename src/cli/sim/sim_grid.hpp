// A grid of simulations: policies by values of a varied quantity, every cell over the same seeds,
// so that cells are comparable. `sim compare` has one row, `sim sweep` several.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/command/output.hpp"
#include "cli/sim/sim_options.hpp"

namespace tangram::cli {

struct GridOptions {
  SimOptions sim;
  std::vector<std::string> policies;  // PLACEMENT or PLACEMENT/MIGRATION
  std::uint32_t seeds = 10;
  unsigned threads = 0;
};

void add_grid_options(Verb& verb, GridOptions& options);

// One cell of the grid.
struct GridCell {
  std::string row;    // the varied value, or empty
  std::string label;  // the policy
  SimPlan plan;
};

// Adds a row of cells, one per policy (or that of `options.sim`). `change`, if not empty, sets the
// varied value.
[[nodiscard]] Result<void> add_row(const GridOptions& options, const std::string& value,
                                   const std::function<Result<void>(SimOptions&)>& change,
                                   std::vector<GridCell>& cells);

// Simulates all cells on the same seeds and prints them; `varied` is the heading of the first
// column, or empty.
[[nodiscard]] Result<void> run_and_print(std::vector<GridCell>& cells, GridOptions options,
                                         const std::string& varied, bool as_json, Output& out);

}  // namespace tangram::cli
