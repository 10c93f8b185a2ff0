// `tangram sim knobs`: lists the simulation parameters, which --knob changes.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "cli/command/verbs.hpp"
#include "sim/knobs.hpp"
#include "text/json_text.hpp"

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
    out.add(text::json_text(rows));
    return {};
  }
  Table table({{"KNOB"}, {"DEFAULT", Align::kRight}, {"UNIT"}, {"DESCRIPTION"}});
  for (const sim::Knob& knob : sim::knob_table()) {
    table.row({Cell(std::string(knob.name), Style::kCyan), fmt::format("{}", defaults.*knob.value),
               std::string(knob.unit), std::string(knob.summary)});
  }
  table.print(out);
  return {};
}

}  // namespace

void add_sim_knobs(Verb& sim, Command& command) {
  Verb verb = sim.add_subcommand("knobs", "List the parameters of the simulation");
  add_output_options(*verb, command);
  verb->footer(
      "Examples:\n"
      "  tangram sim knobs\n"
      "  tangram sim run --workload long25 --knob link_gbps=12\n"
      "docs/simulator.md says where each default comes from.");
  verb->callback(
      [&command] { command.run = [&command](Output& out) { return list(command.json, out); }; });
}

}  // namespace tangram::cli
