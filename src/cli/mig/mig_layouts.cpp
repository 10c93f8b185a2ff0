// `tangram mig layouts MODEL`: every reachable layout with its cost.
#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/text.hpp"
#include "cli/command/picture.hpp"
#include "cli/command/verbs.hpp"
#include "cli/mig/mig_terms.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

namespace json = boost::json;

constexpr int kMaxLayouts = 1'000'000;

struct LayoutsOptions {
  std::string model;
  std::string sort = "size";
  int limit = kMaxLayouts;
  bool variants = false;
  bool rows = false;
};

struct CostedLayout {
  std::vector<mig::Placement> placements;
  mig::FragCost cost;
  std::size_t found;  // position in the enumeration; breaks ties, so that the order is stable
};

std::vector<CostedLayout> layouts_of(const mig::Model& model,
                                     std::span<const mig::ProfileIndex> profiles) {
  std::vector<CostedLayout> layouts;
  mig::for_each_layout(
      model, profiles, [&](std::span<const mig::Placement> placements, mig::Occupancy o) {
        layouts.push_back(
            {{placements.begin(), placements.end()}, model.frag_cost(o), layouts.size()});
      });
  return layouts;
}

void sort_by(std::vector<CostedLayout>& layouts, std::string_view key) {
  const bool by_cost = key == "cost";
  std::ranges::sort(layouts, [by_cost](const CostedLayout& a, const CostedLayout& b) {
    if (by_cost && a.cost != b.cost) return a.cost < b.cost;
    if (!by_cost && a.placements.size() != b.placements.size()) {
      return a.placements.size() < b.placements.size();
    }
    return a.found < b.found;
  });
}

json::object layout_object(const mig::Model& model, const CostedLayout& layout) {
  return {{"model", model.name()},
          {"placements", layout_json(model, layout.placements)},
          {"cost", layout.cost.fraction()}};
}

void print_json(const mig::Model& model, std::span<const CostedLayout> layouts, Output& out) {
  json::array array;
  for (const CostedLayout& layout : layouts) {
    json::object object = layout_object(model, layout);
    add_cost(object, layout.cost);
    array.push_back(std::move(object));
  }
  out.add(text::json_text(array));
}

void print_rows(const mig::Model& model, std::span<const CostedLayout> layouts, Output& out) {
  for (const CostedLayout& layout : layouts) {
    text::append_json(out.buffer(), layout_object(model, layout));
    out.line();
  }
}

void print_text(const mig::Model& model, std::span<const CostedLayout> layouts, std::size_t all,
                Output& out) {
  Table table({{"COST", Align::kRight}, {"", Align::kLeft, 1}, {"SLICES"}, {"PLACEMENTS"}});
  for (const CostedLayout& layout : layouts) {
    const std::string text = cost_text(layout.cost);
    const std::size_t blank = text.find(' ');
    table.row({Cell(text.substr(0, blank), Style::kBold), text.substr(blank + 1),
               strip_picture(out, model, layout.placements),
               layout_text(model, layout.placements)});
  }
  table.print(out);
  out.line();
  const std::string shown = layouts.size() == all ? cat(all) : cat(layouts.size(), " of ", all);
  out.paragraph(cat(shown, " reachable layouts of ", model.name(), ". SLICES shows for each ",
                    "memory slice the compute slices of the profile that takes it; ",
                    out.sign("·", "."), " is free."));
}

Result<void> layouts(const LayoutsOptions& options, bool as_json, Output& out) {
  const Result<ModelPointer> found = model_named(options.model);
  if (!found) return std::unexpected(found.error());
  const mig::Model& model = **found;
  const auto profiles = options.variants ? all_profiles(model) : model.representatives();
  if (layouts_at_most(model, profiles) > kMaxLayouts) {
    return invalid(cat(model.name(), " may have more than ", kMaxLayouts,
                       " layouts, the maximum that can be listed."));
  }
  std::vector<CostedLayout> all = layouts_of(model, profiles);
  sort_by(all, options.sort);
  const std::size_t count = std::min(all.size(), static_cast<std::size_t>(options.limit));
  const std::span<const CostedLayout> shown = std::span<const CostedLayout>(all).first(count);
  if (options.rows) {
    print_rows(model, shown, out);
  } else {
    as_json ? print_json(model, shown, out) : print_text(model, shown, all.size(), out);
  }
  return {};
}

// CLI11 would also accept 0x10 and 010.
std::string validate_number(const std::string& text) {
  if (parse_int(text, 1, kMaxLayouts)) return "";
  return cat(tangram::quoted(text), " is not a whole number from 1 to ", kMaxLayouts);
}

}  // namespace

void add_mig_layouts(Verb& mig, Command& command) {
  const auto options = std::make_shared<LayoutsOptions>();
  Verb verb = mig.add_subcommand("layouts", "List all reachable layouts with their FragCost");
  verb->add_option("MODEL", options->model, kModelHelp)->required();
  verb->add_flag("--variants", options->variants,
                 "Include profiles that differ only in engines (+me, -me, +gfx), within limits");
  verb->add_option("--sort", options->sort,
                   "Sort by size (fewest instances first, the default) or by cost")
      ->one_of({"size", "cost"})
      ->option_text("KEY");
  verb->add_option("--limit", options->limit, "Show at most this many")
      ->check(validate_number)
      ->option_text("N");
  add_output_options(*verb, command);
  verb->add_flag("--jsonl", options->rows,
                 "Print one JSON object per line, as read by `tangram mig frag --jsonl`")
      ->excludes("--json");
  verb->footer(
      "Examples:\n"
      "  tangram mig layouts A30-24GB\n"
      "  tangram mig layouts A100-40GB --sort cost --limit 10\n"
      "  tangram mig layouts H100-80GB --jsonl | tangram mig frag --jsonl");
  verb->callback([&command, options] {
    command.run = [&command, options](Output& out) { return layouts(*options, command.json, out); };
  });
}

}  // namespace tangram::cli
