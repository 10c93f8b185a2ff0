// `tangram mig frag MODEL [PROFILE@START...]`: the FragCost of a layout, and why.
#include <bit>
#include <map>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/command/picture.hpp"
#include "cli/command/verbs.hpp"
#include "cli/mig/frag_rows.hpp"
#include "cli/mig/mig_terms.hpp"
#include "mig/limits.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

namespace json = boost::json;

struct FragOptions {
  std::string model;
  std::vector<std::string> placements;
  bool rows = false;
};

void print_json(const mig::Model& model, const mig::Layout& layout, Output& out) {
  const mig::Occupancy o = layout.occupancy();
  json::array geometries;
  for (const mig::ProfileIndex p : model.representatives()) {
    geometries.push_back(json::object{{"profile", model.profile(p).name},
                                      {"ideal", model.ideal(o, p)},
                                      {"feasible", model.feasible(o, p)}});
  }
  json::array fits;
  const std::vector<mig::ProfileIndex> present = profiles_of(layout.placements());
  for (const mig::ProfileIndex p : all_profiles(model)) {
    const bool allowed = mig::within_limits(model, present, p);
    fits.push_back(json::object{
        {"profile", model.profile(p).name},
        {"starts", starts_json(starts_in(allowed ? model.free_starts(o, p) : mig::SliceMask{}))}});
  }
  json::object result{{"model", model.name()},
                      {"placements", layout_json(model, layout.placements())}};
  add_cost(result, model.frag_cost(o));
  result["compute_taken"] = model.compute_used(o);
  result["memory_taken"] = std::popcount(model.slices(o));
  result["geometries"] = std::move(geometries);
  result["fits"] = std::move(fits);
  out.add(text::json_text(result));
}

std::string ratio_text(int feasible, int ideal) {
  if (ideal == 0) return "0/0 := 1";
  return fmt::format("{}/{} = {:.4g}", feasible, ideal, static_cast<double>(feasible) / ideal);
}

void print_geometries(const mig::Model& model, mig::Occupancy o, Output& out) {
  Table table({{"PROFILE"},
               {"IDEAL", Align::kRight},
               {"FEASIBLE", Align::kRight},
               {"FEASIBLE/IDEAL"},
               {"STILL FITS AT"}});
  for (const mig::ProfileIndex p : model.representatives()) {
    const int feasible = model.feasible(o, p);
    const int ideal = model.ideal(o, p);
    const Style style = feasible < ideal ? Style::kYellow : Style::kPlain;
    table.row({geometry_text(model, p), ideal, feasible, Cell(ratio_text(feasible, ideal), style),
               starts_text(starts_in(model.free_starts(o, p)))});
  }
  table.print(out);
}

// Profiles that free slices allow but instance limits do not, e.g. a second +me.
void print_limits(const mig::Model& model, const mig::Layout& layout, Output& out) {
  std::map<std::string, std::string> excluded;  // names by reason
  const std::vector<mig::ProfileIndex> present = profiles_of(layout.placements());
  for (const mig::ProfileIndex p : all_profiles(model)) {
    if (model.feasible(layout.occupancy(), p) == 0) continue;
    if (const auto why = mig::limit_broken(model, present, p)) {
      std::string& names = excluded[*why];
      names += (names.empty() ? "" : ", ") + model.profile(p).name;
    }
  }
  if (!excluded.empty()) out.line();
  for (const auto& [why, names] : excluded) {
    out.paragraph(cat("Not allowed now: ", names, "; ", why));
  }
}

void print_text(const mig::Model& model, const mig::Layout& layout, Output& out) {
  const mig::Occupancy o = layout.occupancy();
  out.line(
      cat(out.paint(model.name(), Style::kBold), "  ", layout_text(model, layout.placements())));
  out.line();
  out.add(layout_picture(out, model, layout.placements()));
  out.line();
  out.line(cat("  FragCost  ", out.paint(cost_text(model.frag_cost(o)), Style::kBold)));
  out.line(cat("  Taken     ", model.compute_used(o), " of ", model.compute_slices(),
               " compute slices, ", std::popcount(model.slices(o)), " of ", model.memory_slices(),
               " memory slices"));
  out.line();
  print_geometries(model, o, out);
  out.line();
  out.paragraph(
      "FragCost is 1 minus the mean of feasible/ideal. Ideal: how many would fit without MIG's "
      "placement rules. Feasible: at how many starts one fits now.");
  print_limits(model, layout, out);
}

Result<void> frag(const FragOptions& options, bool as_json, Output& out) {
  if (options.rows) return add_costs_to_rows(out.buffer());
  const Result<ModelPointer> model = model_named(options.model);
  if (!model) return std::unexpected(model.error());
  const Result<mig::Layout> layout = layout_of(**model, options.placements);
  if (!layout) return std::unexpected(layout.error());
  as_json ? print_json(**model, *layout, out) : print_text(**model, *layout, out);
  return {};
}

}  // namespace

void add_mig_frag(Verb& mig, Command& command) {
  const auto options = std::make_shared<FragOptions>();
  Verb verb = mig.add_subcommand("frag", "Show the FragCost of a layout and how it is computed");
  Option model = verb->add_option("MODEL", options->model, kModelHelp);
  verb->add_option("PLACEMENT", options->placements,
                   "Instances on the GPU as PROFILE@START, e.g. 2g.10gb@4 (default: none)");
  add_output_options(*verb, command);
  verb->add_flag("--jsonl", options->rows,
                 "Read a row {\"model\", \"placements\": [{\"profile\", \"start\"}]} per line of "
                 "standard input (instead of MODEL) and print each with its cost")
      ->excludes("--json")
      ->excludes(model);
  verb->footer(
      "Examples:\n"
      "  tangram mig frag A100-40GB\n"
      "  tangram mig frag A100-40GB 2g.10gb@4 1g.5gb@6\n"
      "  tangram mig frag A100-40GB 3g.20gb@0 --json\n"
      "  tangram mig frag --jsonl < layouts.jsonl");
  verb->callback([&command, options, model] {
    if (model->count() == 0 && !options->rows) reject_missing("MODEL");
    command.run = [&command, options](Output& out) { return frag(*options, command.json, out); };
  });
}

}  // namespace tangram::cli
