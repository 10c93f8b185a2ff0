// `tangram mig models`: lists the built-in GPU models.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/text.hpp"
#include "cli/command/verbs.hpp"
#include "cli/mig/mig_terms.hpp"
#include "mig/catalog.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

namespace json = boost::json;

json::value model_json(const mig::Model& model) {
  const mig::ModelSpec& spec = model.spec();
  return json::object{
      {"name", spec.name},
      {"compute_slices", spec.compute_slices},
      {"memory_slices", spec.memory_slices},
      {"profiles", static_cast<int>(spec.profiles.size())},
      {"inferred", spec.inferred},
      {"device_names", json::array(spec.device_names.begin(), spec.device_names.end())}};
}

std::string device_text(const mig::ModelSpec& spec) {
  std::string text;
  for (const std::string& name : spec.device_names) text += (text.empty() ? "" : "\n") + name;
  return text.empty() ? "-" : text;
}

void print_json(Output& out) {
  json::array models;
  for (const mig::Model& model : mig::catalog()) models.push_back(model_json(model));
  out.add(text::json_text(models));
}

void print_text(Output& out) {
  Table table({{"MODEL", Align::kLeft, 0},
               {"COMPUTE", Align::kRight},
               {"MEMORY", Align::kRight},
               {"PROFILES", Align::kRight},
               {"PLACEMENTS"},
               {"DEVICE NAMES"}});
  for (const mig::Model& model : mig::catalog()) {
    const mig::ModelSpec& spec = model.spec();
    table.row({Cell(spec.name, Style::kBold), spec.compute_slices, spec.memory_slices,
               static_cast<int>(spec.profiles.size()),
               spec.inferred ? Cell("inferred", Style::kYellow) : Cell("observed"),
               Cell(device_text(spec), Style::kDim)});
  }
  table.print(out);
  out.line();
  out.paragraph(
      "COMPUTE and MEMORY count slices. Placements were observed on the GPU or inferred from a "
      "related one. Details of a model: `tangram mig show A100-40GB`.");
}

}  // namespace

void add_mig_models(Verb& mig, Command& command) {
  Verb verb = mig.add_subcommand("models", "List the built-in GPU models");
  add_output_options(*verb, command);
  verb->footer("Examples:\n  tangram mig models\n  tangram mig models --json");
  verb->callback([&command] {
    command.run = [&command](Output& out) -> Result<void> {
      command.json ? print_json(out) : print_text(out);
      return {};
    };
  });
}

}  // namespace tangram::cli
