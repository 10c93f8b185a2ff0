// See catalog.hpp. The tables are in catalog_<architecture>.cpp.
#include "mig/catalog.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/text.hpp"
#include "mig/catalog_tables.hpp"

namespace tangram::mig {
namespace {

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

bool goes_by(const Model& model, std::string_view name) {
  return same_ignoring_case(model.name(), name) ||
         std::ranges::find(model.spec().device_names, name) != model.spec().device_names.end();
}

std::vector<Model> build_catalog() {
  std::vector<Model> models;
  for (ModelSpec& spec : catalog_specs()) {
    Result<Model> model = Model::build(std::move(spec));
    CHECK(model.has_value());
    models.push_back(*std::move(model));
  }
  return models;
}

}  // namespace

ModelSpec spec_from(const ModelRow& row, std::initializer_list<std::string_view> device_names,
                    std::span<const ProfileRow> profiles) {
  ModelSpec spec{.name = std::string(row.name),
                 .compute_slices = row.compute_slices,
                 .memory_slices = row.memory_slices,
                 .inferred = row.inferred,
                 .device_names = {device_names.begin(), device_names.end()},
                 .profiles = {}};
  for (const ProfileRow& p : profiles) {
    spec.profiles.push_back({.name = std::string(p.name),
                             .compute_slices = p.compute_slices,
                             .memory_slices = p.memory_slices,
                             .starts = {p.starts.begin(), p.starts.end()},
                             .max_instances = p.max_instances,
                             .facts = p.facts});
  }
  return spec;
}

std::vector<ModelSpec> catalog_specs() {
  std::vector<ModelSpec> specs = ampere_specs();
  std::ranges::move(hopper_specs(), std::back_inserter(specs));
  std::ranges::move(blackwell_specs(), std::back_inserter(specs));
  return specs;
}

const std::vector<Model>& catalog() {
  static const std::vector<Model> models = build_catalog();
  return models;
}

Result<const Model*> find_model(std::string_view name) {
  std::vector<std::string> names;
  for (const Model& model : catalog()) {
    if (goes_by(model, name)) return &model;
    names.push_back(model.name());
  }
  const auto near = nearest(name, names);
  return not_found(cat("unknown GPU model ", quoted(name),
                       near ? cat("; did you mean ", *near, "?") : std::string("."),
                       " Known models: ", join_words(names), "."));
}

}  // namespace tangram::mig
