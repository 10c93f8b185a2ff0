// See mig_terms.hpp.
#include "cli/mig/mig_terms.hpp"

#include <algorithm>
#include <cmath>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "mig/catalog.hpp"
#include "text/model_file.hpp"

namespace tangram::cli {

namespace json = boost::json;

Result<ModelPointer> model_named(const std::string& name) {
  if (name.find('/') != std::string::npos || name.ends_with(".toml")) {
    Result<mig::Model> model = text::load_model(name);
    if (!model) return std::unexpected(model.error());
    return std::make_shared<const mig::Model>(*std::move(model));
  }
  const Result<const mig::Model*> model = mig::find_model(name);
  if (!model) return std::unexpected(model.error());
  return ModelPointer(ModelPointer(), *model);  // the catalog lives as long as the program
}

Result<mig::Layout> layout_of(const mig::Model& model, const std::vector<std::string>& arguments) {
  std::vector<mig::PlacementText> texts;
  for (const std::string& argument : arguments) {
    Result<mig::PlacementText> text = mig::parse_placement(argument);
    if (!text) return std::unexpected(text.error());
    texts.push_back(*std::move(text));
  }
  return mig::Layout::make(model, texts);
}

std::vector<mig::ProfileIndex> all_profiles(const mig::Model& model) {
  std::vector<mig::ProfileIndex> profiles;
  profiles.reserve(model.profiles().size());
  for (std::size_t i = 0; i < model.profiles().size(); ++i) {
    profiles.emplace_back(static_cast<std::uint8_t>(i));
  }
  return profiles;
}

std::vector<mig::ProfileIndex> profiles_of(std::span<const mig::Placement> placements) {
  std::vector<mig::ProfileIndex> profiles;
  for (const mig::Placement& placement : placements) profiles.push_back(placement.profile);
  return profiles;
}

std::vector<int> starts_in(mig::SliceMask mask) {
  std::vector<int> starts;
  for (int start = 0; start < mig::kMaxMemorySlices; ++start) {
    if (((mask >> start) & 1) != 0) starts.push_back(start);
  }
  return starts;
}

// From the last slice to the first: a slice stays free, or a placement starts there.
double layouts_at_most(const mig::Model& model, std::span<const mig::ProfileIndex> profiles) {
  std::vector<double> from(static_cast<std::size_t>(model.memory_slices()) + 1, 1.0);
  for (int slice = model.memory_slices() - 1; slice >= 0; --slice) {
    const auto at = static_cast<std::size_t>(slice);
    from[at] = from[at + 1];
    for (const mig::ProfileIndex index : profiles) {
      const mig::Profile& profile = model.profile(index);
      if (std::ranges::find(profile.starts, slice) == profile.starts.end()) continue;
      from[at] += from[at + static_cast<std::size_t>(profile.memory_slices)];
    }
  }
  return from.front();
}

std::string starts_text(std::vector<int> starts) {
  std::ranges::sort(starts);
  std::string text;
  for (std::size_t i = 0; i < starts.size();) {
    std::size_t last = i;
    while (last + 1 < starts.size() && starts[last + 1] == starts[last] + 1) ++last;
    if (last < i + 2) last = i;  // "0 1", but "0-2"
    text += cat(text.empty() ? "" : " ", starts[i]);
    if (last > i) text += cat('-', starts[last]);
    i = last + 1;
  }
  return text.empty() ? "-" : text;
}

std::string cost_text(mig::FragCost cost) {
  return fmt::format("{} ({:.4f})", cost.fraction(), cost.approximate());
}

std::string layout_text(const mig::Model& model, std::span<const mig::Placement> placements) {
  std::string text;
  for (const mig::Placement& placement : placements) {
    text += (text.empty() ? "" : " ") + to_string(model, placement);
  }
  return text.empty() ? "(empty)" : text;
}

std::string geometry_text(const mig::Model& model, mig::ProfileIndex representative) {
  const std::string& name = model.profile(representative).name;
  std::string text = name;
  for (const mig::ProfileIndex other : all_profiles(model)) {
    if (other == representative) continue;
    if (model.geometry_of(other) != model.geometry_of(representative)) continue;
    const std::string& variant = model.profile(other).name;
    text += ' ';
    text += variant.starts_with(name) ? variant.substr(name.size()) : variant;
  }
  return text;
}

std::string_view plural(int count) { return count == 1 ? "" : "s"; }

json::value placement_json(const mig::Model& model, mig::Placement placement) {
  return json::object{{"profile", model.profile(placement.profile).name},
                      {"start", static_cast<int>(placement.start)}};
}

json::value layout_json(const mig::Model& model, std::span<const mig::Placement> placements) {
  json::array array;
  for (const mig::Placement& placement : placements) {
    array.push_back(placement_json(model, placement));
  }
  return array;
}

json::value starts_json(const std::vector<int>& starts) {
  return json::array(starts.begin(), starts.end());
}

void add_cost(json::object& object, mig::FragCost cost) {
  object["cost"] = cost.fraction();
  object["cost_decimal"] = std::round(cost.approximate() * 1e4) / 1e4;
}

}  // namespace tangram::cli
