// `tangram sim knobs`: the assumptions of the simulated world, which --knob changes.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "cli/verbs.hpp"
#include "files/json_text.hpp"
#include "sim/knobs.hpp"

namespace tangram::cli {
namespace {

Result<void> list(bool as_json, Output& out) {
  const sim::Knobs defaults;
  if (as_json) {
    boost::json::array rows;
    for (const sim::Knob& knob : sim::knob_table()) {
      rows.push_back(boost::json::object{{"name", knob.name},
                                         {"default", defaults.*knob.value},
                                         {"unit", knob.unit},
                                         {"lowest", knob.lowest},
                                         {"highest", knob.highest},
                                         {"summary", knob.summary}});
    }
    out.add(files::json_text(rows));
    return {};
  }
  Table table({{"KNOB"}, {"DEFAULT", Align::kRight}, {"UNIT"}, {"WHAT IT IS"}});
  for (const sim::Knob& knob : sim::knob_table()) {
    table.row({Cell(std::string(knob.name), Style::kCyan), fmt::format("{}", defaults.*knob.value),
               std::string(knob.unit), std::string(knob.summary)});
  }
  table.print(out);
  return {};
}

}  // namespace

void add_sim_knobs(Verb& sim, Command& command) {
  Verb verb = sim.add_subcommand("knobs", "List the assumptions of the simulated world");
  add_output_options(*verb, command);
  verb->footer(
      "Where each default comes from: docs/simulator.md.\n"
      "Example:\n  tangram sim run --workload long25 --knob link_gbps=12");
  verb->callback(
      [&command] { command.run = [&command](Output& out) { return list(command.json, out); }; });
}

}  // namespace tangram::cli
