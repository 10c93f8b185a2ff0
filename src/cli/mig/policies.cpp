// `tangram policies`: lists the placement, queue and migration policies.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "cli/command/verbs.hpp"
#include "policies/registry.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

namespace json = boost::json;

template <class Table>
json::array table_json(const Table& table) {
  json::array rows;
  for (const auto& policy : table) {
    rows.push_back(json::object{{"name", json::string(policy.name)},
                                {"summary", json::string(policy.summary)}});
  }
  return rows;
}

json::array placements_json() {
  json::array rows = table_json(policies::placement_policies());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const core::PlacementPolicy& policy = policies::placement_policies()[i];
    json::array criteria;
    for (const std::string_view name : policy.criteria) criteria.push_back(json::string(name));
    rows[i].as_object()["criteria"] = std::move(criteria);
    rows[i].as_object()["queue"] = json::string(policy.queue);
  }
  return rows;
}

template <class Rows>
void print_table(std::string_view heading, const Rows& rows, Output& out) {
  out.line(out.paint(heading, Style::kBold));
  Table table({{"  NAME"}, {"DESCRIPTION"}});
  for (const auto& policy : rows) {
    table.row({Cell("  " + std::string(policy.name), Style::kCyan), std::string(policy.summary)});
  }
  table.print(out);
}

Result<void> list(bool as_json, Output& out) {
  if (as_json) {
    out.add(
        text::json_text(json::object{{"placement", placements_json()},
                                     {"queue", table_json(policies::queue_policies())},
                                     {"migration", table_json(policies::migration_policies())}}));
    return {};
  }
  print_table("Placement: where a job goes", policies::placement_policies(), out);
  out.line();
  print_table("Queue: which waiting job is first", policies::queue_policies(), out);
  out.line();
  print_table("Migration: what moves after a job has left", policies::migration_policies(), out);
  return {};
}

}  // namespace

void add_policies(Verb& app, Command& command) {
  Verb verb = app.add_subcommand("policies", "List the scheduling policies");
  add_output_options(*verb, command);
  verb->footer(
      "Examples:\n"
      "  tangram policies\n"
      "  tangram decide --policy best-fit < examples/arrival.json\n"
      "Names ending in -style are modelled after other systems, not ports of them. The\n"
      "-plain ones make the same decisions without the index; they exist to check it.");
  verb->callback(
      [&command] { command.run = [&command](Output& out) { return list(command.json, out); }; });
}

}  // namespace tangram::cli
