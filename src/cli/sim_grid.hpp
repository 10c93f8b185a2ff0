// A grid of simulations: columns of policies by rows of values, each over the same seeds. Compare
// has one row, sweep many. One rule: cells are comparable, because every cell sees the same seeds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/output.hpp"
#include "cli/sim_options.hpp"

namespace tangram::cli {

struct GridOptions {
  SimOptions sim;
  std::vector<std::string> policies;  // PLACEMENT or PLACEMENT/MIGRATION
  std::uint32_t seeds = 10;
  unsigned threads = 0;
};

void add_grid_options(Verb& verb, GridOptions& options);

// One cell: its name and the simulation it stands for.
struct GridCell {
  std::string row;    // the value that is varied, or empty
  std::string label;  // the policy
  SimPlan plan;
};

// Adds a row: each of the policies (or the one of `options.sim`), changed by `change` if there is
// one.
[[nodiscard]] Result<void> add_row(const GridOptions& options, const std::string& value,
                                   const std::function<Result<void>(SimOptions&)>& change,
                                   std::vector<GridCell>& cells);

// Simulates all cells on the same seeds and prints them; `varied` heads the first column, if any.
[[nodiscard]] Result<void> run_and_print(std::vector<GridCell>& cells, GridOptions options,
                                         const std::string& varied, bool as_json, Output& out);

}  // namespace tangram::cli
