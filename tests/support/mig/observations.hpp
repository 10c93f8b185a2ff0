// For tests: where NVIDIA's driver put instances that were created without a placement, as observed
// on hardware. Both the inferred rule and the emulated driver must reproduce them. Each observation
// is listed once.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.hpp"
#include "mig/model.hpp"

namespace tangram::mig {

inline constexpr std::nullopt_t kInsufficientResources = std::nullopt;
using Starts = std::vector<std::optional<int>>;

struct Observation {
  std::vector<std::string> models;
  std::vector<std::string_view> created;  // "2g" is the model's first profile of two slices
  Starts starts;
};

inline const std::vector<std::string>& seven_slices() {
  static const std::vector<std::string> models = {"A100-40GB", "A100-80GB", "H100-80GB"};
  return models;
}

inline const std::vector<Observation>& observations() {
  static const std::vector<Observation> all = {
      {seven_slices(), {"1g", "1g", "1g", "1g", "1g", "1g", "1g"}, {6, 4, 5, 0, 1, 2, 3}},
      {seven_slices(), {"1g", "2g", "4g"}, {6, 4, 0}},
      {seven_slices(), {"1g", "1g", "2g", "3g"}, {6, 4, 0, kInsufficientResources}},
      {seven_slices(), {"3g", "1g", "2g", "1g"}, {4, 0, 2, 1}},
      {seven_slices(), {"2g", "1g", "1g", "1g", "1g", "1g"}, {4, 6, 0, 1, 2, 3}},
      {seven_slices(), {"2g", "2g", "2g", "1g+me"}, {4, 0, 2, 6}},
      {seven_slices(), {"2g", "2g", "1g"}, {4, 0, 6}},
      {seven_slices(), {"3g", "2g", "1g"}, {4, 0, 2}},
      {seven_slices(), {"3g", "4g"}, {4, 0}},
      {{"H100-PCIe-80GB"}, {"1g.20gb"}, {6}},
      {{"A30-24GB"}, {"1g", "1g", "2g"}, {0, 1, 2}},
      {{"RTX-PRO-6000-96GB"}, {"1g", "1g", "1g", "1g"}, {0, 3, 6, 9}},
      {{"RTX-PRO-6000-96GB"}, {"2g", "1g", "1g"}, {0, 6, 9}},
  };
  return all;
}

// A full name, or slices and suffix: "1g+me" is the first profile "1g.<memory>+me".
inline ProfileIndex profile_like(const Model& m, std::string_view name) {
  if (const auto exact = m.find_profile(name)) return *exact;
  const std::size_t slices = name.find('g') + 1;
  const std::string_view suffix = name.substr(slices);
  const auto& all = m.profiles();
  const auto found = std::ranges::find_if(all, [&](const Profile& p) {
    return p.name.starts_with(std::string(name.substr(0, slices)) + ".") &&
           p.name.ends_with(suffix.empty() ? "gb" : suffix);
  });
  CHECK(found != all.end());
  return ProfileIndex(static_cast<std::uint8_t>(found - all.begin()));
}

}  // namespace tangram::mig
