// `tangram mig show MODEL`: the profiles of a GPU model and their legal placements.
#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/text.hpp"
#include "cli/command/picture.hpp"
#include "cli/command/verbs.hpp"
#include "cli/mig/mig_terms.hpp"
#include "text/json_text.hpp"
#include "text/model_file.hpp"

namespace tangram::cli {
namespace {

namespace json = boost::json;

struct MigShowOptions {
  std::string model;
  bool toml = false;
};

json::value known_or_null(int fact) {
  return fact == mig::kUnknown ? json::value(nullptr) : json::value(fact);
}

json::value profile_json(const mig::Model& model, mig::ProfileIndex index) {
  const mig::Profile& p = model.profile(index);
  const mig::ProfileFacts& facts = p.facts;
  const auto geometry = static_cast<std::size_t>(model.geometry_of(index));
  return json::object{
      {"name", p.name},
      {"compute_slices", p.compute_slices},
      {"memory_slices", p.memory_slices},
      {"starts", starts_json(p.starts)},
      {"max_instances", p.max_instances},
      {"geometry", model.profile(model.representatives()[geometry]).name},
      {"memory_mib", known_or_null(facts.memory_mib)},
      {"nvml_enum", known_or_null(facts.nvml_enum)},
      {"nvml_id", known_or_null(facts.nvml_id)},
      {"multiprocessors", known_or_null(facts.multiprocessors)},
      {"copy_engines", known_or_null(facts.copy_engines)},
      {"decoders", known_or_null(facts.decoders)},
      {"encoders", known_or_null(facts.encoders)},
      {"jpeg", known_or_null(facts.jpeg)},
      {"ofa", known_or_null(facts.ofa)},
  };
}

void print_json(const mig::Model& model, Output& out) {
  const mig::ModelSpec& spec = model.spec();
  json::array profiles;
  for (const mig::ProfileIndex index : all_profiles(model)) {
    profiles.push_back(profile_json(model, index));
  }
  out.add(text::json_text(json::object{
      {"name", spec.name},
      {"compute_slices", spec.compute_slices},
      {"memory_slices", spec.memory_slices},
      {"inferred", spec.inferred},
      {"device_names", json::array(spec.device_names.begin(), spec.device_names.end())},
      {"states", model.state_count()},
      {"profiles", std::move(profiles)},
  }));
}

void print_head(const mig::Model& model, Output& out) {
  const mig::ModelSpec& spec = model.spec();
  out.line(cat(out.paint(spec.name, Style::kBold), "  ", spec.compute_slices, " compute slice",
               plural(spec.compute_slices), ", ", spec.memory_slices, " memory slice",
               plural(spec.memory_slices), ", ", model.state_count(), " occupancy states"));
  if (spec.inferred) {
    out.line(cat("  ", out.paint("Inferred:", Style::kYellow),
                 " placements taken from a related GPU, not observed on this one."));
  } else {
    out.line("  Placements as the driver reports them on this GPU (not inferred).");
  }
  if (!spec.device_names.empty()) {
    out.paragraph(cat("The driver calls it ", join_words(spec.device_names), "."));
  }
  out.line();
}

std::string known_or_dash(int fact) { return fact == mig::kUnknown ? "-" : std::to_string(fact); }

void print_profiles(const mig::Model& model, Output& out) {
  Table table({{"PROFILE"},
               {"COMP", Align::kRight},
               {"SIZE", Align::kRight},
               {"STARTS"},
               {"MAX", Align::kRight},
               {"MiB", Align::kRight},
               {"SMs", Align::kRight},
               {"ID", Align::kRight},
               {"CE", Align::kRight},
               {"DEC", Align::kRight, 1},
               {"ENC", Align::kRight, 1},
               {"JPG", Align::kRight, 1},
               {"OFA", Align::kRight, 1}});
  for (const mig::Profile& p : model.profiles()) {
    const mig::ProfileFacts& facts = p.facts;
    table.row({Cell(p.name, Style::kBold), p.compute_slices, p.memory_slices, starts_text(p.starts),
               p.max_instances, known_or_dash(facts.memory_mib),
               known_or_dash(facts.multiprocessors), known_or_dash(facts.nvml_id),
               known_or_dash(facts.copy_engines), known_or_dash(facts.decoders),
               known_or_dash(facts.encoders), known_or_dash(facts.jpeg), known_or_dash(facts.ofa)});
  }
  table.print(out);
  out.line();
  out.paragraph(
      "COMP compute slices, SIZE memory slices, STARTS legal first memory slices, MAX instances "
      "per GPU, ID of the profile in NVML. Engines: CE copy, DEC decode, ENC encode, JPG JPEG, OFA "
      "optical flow. - means unknown.");
  out.line();
}

bool has_media(const mig::Model& model, mig::Media media) {
  return std::ranges::any_of(model.profiles(),
                             [&](const mig::Profile& p) { return mig::media_of(p.name) == media; });
}

void print_limits(const mig::Model& model, Output& out) {
  const bool all = has_media(model, mig::Media::kAll);
  if (!all && !has_media(model, mig::Media::kExtended)) return;
  out.line();
  out.paragraph(cat("Limits: one instance with +me", all ? " or +me.all" : "",
                    " per GPU, because it has the shared media engines.",
                    all ? " With a +me.all instance, only -me profiles can be added." : ""));
}

void print_text(const mig::Model& model, Output& out) {
  print_head(model, out);
  print_profiles(model, out);
  out.add(placements_picture(out, model));
  print_limits(model, out);
}

Result<void> show(const MigShowOptions& options, bool as_json, Output& out) {
  const Result<ModelPointer> model = model_named(options.model);
  if (!model) return std::unexpected(model.error());
  if (options.toml) {
    out.add(text::to_toml((*model)->spec()));
  } else {
    as_json ? print_json(**model, out) : print_text(**model, out);
  }
  return {};
}

}  // namespace

void add_mig_show(Verb& mig, Command& command) {
  const auto options = std::make_shared<MigShowOptions>();
  Verb verb = mig.add_subcommand("show", "Show the profiles and placements of a GPU model");
  verb->add_option("MODEL", options->model, kModelHelp)->required();
  add_output_options(*verb, command);
  verb->add_flag("--toml", options->toml, "Print a model file that can be edited and loaded")
      ->excludes("--json");
  verb->footer(
      "Examples:\n"
      "  tangram mig show A100-40GB\n"
      "  tangram mig show RTX-PRO-6000-96GB --json\n"
      "  tangram mig show A30-24GB --toml > my-gpu.toml && tangram mig show my-gpu.toml");
  verb->callback([&command, options] {
    command.run = [&command, options](Output& out) { return show(*options, command.json, out); };
  });
}

}  // namespace tangram::cli
