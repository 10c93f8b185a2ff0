// `tangram mig place MODEL PROFILE [PROFILE@START...]`: the starts where a new instance fits, the
// FragCost after each, and the best one.
#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/text.hpp"
#include "cli/command/picture.hpp"
#include "cli/command/verbs.hpp"
#include "cli/mig/mig_terms.hpp"
#include "mig/driver.hpp"
#include "mig/limits.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

namespace json = boost::json;

struct PlaceOptions {
  std::string model;
  std::string profile;
  std::vector<std::string> held;
};

// One legal start: the FragCost after, or the placements in the way.
struct Candidate {
  mig::Placement placement;
  std::vector<mig::Placement> taken_by;
  std::optional<mig::FragCost> cost;
};

struct Answer {
  const mig::Model& model;
  mig::Layout layout;
  mig::ProfileIndex profile;
  std::optional<std::string> limit;  // why no further instance is allowed
  std::vector<Candidate> candidates;
  std::optional<int> best;
  std::optional<int> driver;

  [[nodiscard]] const std::string& name() const { return model.profile(profile).name; }
};

Candidate candidate(const mig::Model& model, const mig::Layout& layout, mig::Placement placement) {
  Candidate c{placement, {}, std::nullopt};
  std::ranges::copy_if(layout.placements(), std::back_inserter(c.taken_by),
                       [&](const mig::Placement& held) {
                         return (model.range(held) & model.range(placement)) != 0;
                       });
  if (c.taken_by.empty()) c.cost = model.frag_cost(model.with(layout.occupancy(), placement));
  return c;
}

Answer answer_of(const mig::Model& model, mig::Layout layout, mig::ProfileIndex profile) {
  Answer answer{model, std::move(layout), profile, {}, {}, {}, {}};
  const mig::Occupancy o = answer.layout.occupancy();
  answer.limit = mig::limit_broken(model, profiles_of(answer.layout.placements()), profile);
  std::vector<int> starts = model.profile(profile).starts;
  std::ranges::sort(starts);
  for (const int start : starts) {
    const mig::Placement placement{profile, static_cast<std::uint8_t>(start)};
    answer.candidates.push_back(candidate(model, answer.layout, placement));
    if (answer.limit) answer.candidates.back().cost.reset();
  }
  if (!answer.limit) {
    answer.best = model.best_start(o, profile);
    answer.driver = mig::driver_start(model, o, profile);
  }
  return answer;
}

json::value or_null(const std::optional<int>& start) {
  return start ? json::value(*start) : json::value(nullptr);
}

json::value candidate_json(const Answer& answer, const Candidate& c) {
  json::object object{{"start", static_cast<int>(c.placement.start)}, {"free", c.cost.has_value()}};
  if (c.cost) add_cost(object, *c.cost);
  if (!c.taken_by.empty()) object["taken_by"] = layout_json(answer.model, c.taken_by);
  return object;
}

void print_json(const Answer& answer, Output& out) {
  json::array starts;
  for (const Candidate& c : answer.candidates) starts.push_back(candidate_json(answer, c));
  json::object result{{"model", answer.model.name()},
                      {"profile", answer.name()},
                      {"held", layout_json(answer.model, answer.layout.placements())}};
  add_cost(result, answer.model.frag_cost(answer.layout.occupancy()));
  result["starts"] = std::move(starts);
  result["best"] = or_null(answer.best);
  result["driver"] = or_null(answer.driver);
  result["limit"] = answer.limit ? json::value(*answer.limit) : json::value(nullptr);
  out.add(text::json_text(result));
}

std::string slices_text(const mig::Model& model, mig::Placement p) {
  const int last = p.start + model.profile(p.profile).memory_slices - 1;
  return last == p.start ? cat(p.start) : cat(p.start, '-', last);
}

std::string note_of(const Answer& answer, const Candidate& c, const Output& out) {
  if (!c.taken_by.empty()) return "taken by " + layout_text(answer.model, c.taken_by);
  if (!c.cost) return "free, but not allowed";
  const bool best = answer.best == c.placement.start;
  const bool driver = answer.driver == c.placement.start;
  const std::string arrow(out.sign("◀ ", "<- "));
  if (best) return cat(arrow, driver ? "best, and the driver's own choice" : "best");
  return driver ? cat(arrow, "the driver's own choice") : "";
}

void print_candidates(const Answer& answer, Output& out) {
  Table table({{"START", Align::kRight}, {"SLICES"}, {"COST AFTER"}, {""}});
  for (const Candidate& c : answer.candidates) {
    Style style = c.cost ? Style::kPlain : Style::kDim;
    if (c.cost && answer.best == c.placement.start) style = Style::kGood;
    table.row({Cell(std::to_string(c.placement.start), style),
               Cell(slices_text(answer.model, c.placement), style),
               Cell(c.cost ? cost_text(*c.cost) : "-", style),
               Cell(note_of(answer, c, out), style)});
  }
  table.print(out);
  out.line();
}

void print_verdict(const Answer& answer, Output& out) {
  if (answer.limit) {
    out.paragraph(cat("No ", answer.name(), " can be added: ", *answer.limit));
  } else if (!answer.best) {
    out.line(cat("  No start is free for a ", answer.name(), "."));
  } else {
    out.line(cat("  Best: ", out.paint(cat(answer.name(), '@', *answer.best), Style::kGood),
                 ", the lowest FragCost after; among equals the highest start."));
  }
}

void print_text(const Answer& answer, Output& out) {
  out.line(cat(out.paint(answer.model.name(), Style::kBold), "  a ",
               out.paint(answer.name(), Style::kBold), " beside ",
               layout_text(answer.model, answer.layout.placements())));
  out.line();
  out.add(layout_picture(out, answer.model, answer.layout.placements()));
  out.line();
  out.line(cat("  FragCost now  ", cost_text(answer.model.frag_cost(answer.layout.occupancy()))));
  out.line();
  print_candidates(answer, out);
  print_verdict(answer, out);
}

Result<void> place(const PlaceOptions& options, bool as_json, Output& out) {
  const Result<ModelPointer> model = model_named(options.model);
  if (!model) return std::unexpected(model.error());
  const Result<mig::ProfileIndex> profile = (*model)->find_profile(options.profile);
  if (!profile) return std::unexpected(profile.error());
  const Result<mig::Layout> held = layout_of(**model, options.held);
  if (!held) return std::unexpected(held.error());
  const Answer answer = answer_of(**model, *held, *profile);
  as_json ? print_json(answer, out) : print_text(answer, out);
  return {};
}

}  // namespace

void add_mig_place(Verb& mig, Command& command) {
  const auto options = std::make_shared<PlaceOptions>();
  Verb verb = mig.add_subcommand("place", "Show where a new instance fits and the best start");
  verb->add_option("MODEL", options->model, kModelHelp)->required();
  verb->add_option("PROFILE", options->profile, "Profile to place, e.g. 2g.10gb")->required();
  verb->add_option("HELD", options->held, "Instances already on the GPU as PROFILE@START");
  add_output_options(*verb, command);
  verb->footer(
      "Examples:\n"
      "  tangram mig place A100-40GB 2g.10gb\n"
      "  tangram mig place A100-40GB 1g.5gb 3g.20gb@4 1g.5gb@0\n"
      "  tangram mig place A100-40GB 4g.20gb 1g.5gb@0 --json");
  verb->callback([&command, options] {
    command.run = [&command, options](Output& out) { return place(*options, command.json, out); };
  });
}

}  // namespace tangram::cli
