// `tangram sim sweep`: varies one quantity, on the same seeds.
#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/command/verbs.hpp"
#include "cli/sim/sim_grid.hpp"
#include "sim/knobs.hpp"

namespace tangram::cli {
namespace {

constexpr std::size_t kMaxCells = 10'000;

struct Vary {
  std::string name;
  std::vector<std::string> values;
};

Result<Vary> parse_vary(std::string_view text) {
  Vary vary;
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    return invalid(cat("--vary: invalid value ", tangram::quoted(text),
                       ": use NAME=A,B,C, e.g. threshold=0,0.2,0.4."));
  }
  vary.name = text.substr(0, equals);
  for (std::size_t at = equals + 1; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    if (comma == at) return invalid(cat("--vary ", tangram::quoted(text), " has an empty value."));
    const std::string value(text.substr(at, comma - at));
    if (std::ranges::find(vary.values, value) != vary.values.end()) {
      return invalid(cat("--vary names ", tangram::quoted(value), " twice."));
    }
    vary.values.push_back(value);
    at = comma + 1;
  }
  return vary;
}

// Sets an option by parsing it as the command line would, or a knob.
Result<void> set_value(const std::string& name, const std::string& value, SimOptions& o) {
  static const std::vector<std::string> options{
      "threshold",      "load",          "arrival",  "gpus",      "jobs",  "queries",
      "duration",       "sigma",         "law",      "workload",  "queue", "gpu-model",
      "transfer-share", "movable-share", "speed-up", "restraint", "seed"};
  if (std::ranges::find(options, name) == options.end()) {
    for (const sim::Knob& knob : sim::knob_table()) {
      if (knob.name != name) continue;
      o.knobs.push_back(cat(name, "=", value));
      return {};
    }
    std::vector<std::string> known = options;
    for (const sim::Knob& knob : sim::knob_table()) known.emplace_back(knob.name);
    const auto near = nearest(name, known);
    return not_found(cat("cannot vary ", tangram::quoted(name),
                         near ? cat("; did you mean ", *near, "?") : std::string("."), " Allowed: ",
                         join_words(options), ", and every knob of `tangram sim knobs`."));
  }
  CLI::App parser;
  SimOptions fresh = o;
  Verb verb(&parser);
  add_sim_options(verb, fresh);
  try {
    parser.parse(
        std::vector<std::string>{value, cat("--", name)});  // CLI11 takes words from the back
  } catch (const CLI::ParseError& error) {
    return invalid(cat("cannot vary ", name, ": ", printable(error.what()), "."));
  }
  o = std::move(fresh);
  return {};
}

// Fixes the queries per task to those of the given setting. Otherwise they would be derived from
// the node and the knobs, and change with the varied quantity.
GridOptions fixed_queries(const GridOptions& o, const std::string& varied) {
  GridOptions fixed = o;
  if (!o.sim.queries.empty() || varied == "load" || varied == "queries") return fixed;
  const auto plan = plan_simulation(o.sim);
  if (!plan || plan->queries_per_task <= 0) return fixed;  // an error is reported with its row
  fixed.sim.queries = fmt::format("{}", plan->queries_per_task);
  fixed.sim.load.reset();
  return fixed;
}

Result<void> sweep(const GridOptions& o, const std::string& text, bool as_json, Output& out) {
  const auto vary = parse_vary(text);
  if (!vary) return std::unexpected(vary.error());
  if (vary->values.size() * std::max<std::size_t>(1, o.policies.size()) > kMaxCells) {
    return invalid(fmt::format("more than {} cells; sweep in parts.", kMaxCells));
  }
  const auto fixed = fixed_queries(o, vary->name);
  std::vector<GridCell> cells;
  for (const std::string& value : vary->values) {
    const auto added = add_row(
        fixed, value, [&](SimOptions& s) { return set_value(vary->name, value, s); }, cells);
    if (!added) return added;
  }
  return run_and_print(cells, o, vary->name, as_json, out);
}

}  // namespace

void add_sim_sweep(Verb& sim, Command& command) {
  Verb verb = sim.add_subcommand("sweep", "Vary one quantity on the same seeds");
  const auto options = std::make_shared<GridOptions>();
  const auto vary = std::make_shared<std::string>();
  verb->add_option(
          "--vary", *vary,
          "Quantity and values: threshold, load, arrival, gpus, … or a knob of `tangram sim knobs`")
      ->required()
      ->option_text("NAME=A,B,C");
  add_grid_options(*verb, *options);
  add_output_options(*verb, command);
  verb->footer(
      "Examples:\n"
      "  tangram sim sweep --vary threshold=0,0.2,0.4,0.6,0.8,1 --workload long25\n"
      "  tangram sim sweep --vary link_gbps=6,12,25.7 --policies first-fit/off,paper/both");
  verb->callback([&command, options, vary] {
    command.run = [&command, options, vary](Output& out) {
      return sweep(*options, *vary, command.json, out);
    };
  });
}

}  // namespace tangram::cli
