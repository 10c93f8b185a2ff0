// `tangram sim compare`: compares several policies on the same seeds.
#include "cli/command/verbs.hpp"
#include "cli/sim/sim_grid.hpp"

namespace tangram::cli {
namespace {

Result<void> compare(const GridOptions& o, bool as_json, Output& out) {
  GridOptions options = o;
  if (options.policies.empty()) options.policies = {"first-fit/off", "paper/off", "paper/both"};
  std::vector<GridCell> cells;
  const auto added = add_row(options, "", nullptr, cells);
  if (!added) return added;
  return run_and_print(cells, options, "", as_json, out);
}

}  // namespace

void add_sim_compare(Verb& sim, Command& command) {
  Verb verb = sim.add_subcommand("compare", "Compare several policies on the same seeds");
  const auto options = std::make_shared<GridOptions>();
  add_grid_options(*verb, *options);
  add_output_options(*verb, command);
  verb->footer(
      "Examples:\n"
      "  tangram sim compare --workload normal25 --restraint none\n"
      "  tangram sim compare --policies first-fit/off,best-fit/off,paper/both --gpus 64 --load "
      "0.9");
  verb->callback([&command, options] {
    command.run = [&command, options](Output& out) { return compare(*options, command.json, out); };
  });
}

}  // namespace tangram::cli
