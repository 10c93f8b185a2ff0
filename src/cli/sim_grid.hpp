// A grid of simulations: columns of policies by rows of values, each over the same seeds. Compare
// has one row, sweep many. One rule: cells are comparable, because every cell sees the same seeds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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

void add_grid_options(CLI::App& verb, GridOptions& options);

// One cell: its name and the simulation it stands for.
struct GridCell {
  std::string row;    // the value that is varied, or empty
  std::string label;  // the policy
  SimPlan plan;
};

struct CellResult {
  std::string row;
  std::string label;
  std::vector<double> wait;  // means, by seed
  std::vector<double> execution;
  std::vector<double> makespan;
  std::vector<double> wait_p95;
  std::vector<double> fragmentation;
  std::vector<double> moves;
  std::uint64_t refused = 0;
};

// "paper/off" as an option would say it.
[[nodiscard]] Result<void> set_policy_pair(SimOptions& options, std::string_view pair);

[[nodiscard]] Result<std::vector<CellResult>> run_grid(const std::vector<GridCell>& cells,
                                                       const GridOptions& options);

// `varied` heads the first column, if any.
void print_grid(const std::vector<CellResult>& cells, const std::string& varied, Output& out);
[[nodiscard]] std::string grid_json(const std::vector<CellResult>& cells, const std::string& varied,
                                    const GridOptions& options);

}  // namespace tangram::cli
