// See arrangements.hpp.
#include "sim/arrangements.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "base/text.hpp"
#include "mig/layout.hpp"

namespace tangram::sim {
namespace {

using Counts = std::vector<int>;  // of each profile of the multiset
using Layouts = std::vector<std::pair<Counts, std::vector<mig::Placement>>>;

// One layout for each content that a GPU can have, those with most of the largest profiles first.
Layouts layouts_of(const mig::Model& model, const std::vector<mig::ProfileIndex>& profiles,
                   const Counts& max_counts) {
  std::map<Counts, std::vector<mig::Placement>> found;
  mig::for_each_layout(model, profiles, [&](std::span<const mig::Placement> layout, auto) {
    Counts counts(profiles.size());
    for (const mig::Placement& p : layout) {
      for (std::size_t i = 0; i < profiles.size(); ++i) counts[i] += p.profile == profiles[i];
    }
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] > max_counts[i]) return;
    }
    found.try_emplace(counts, layout.begin(), layout.end());
  });
  return {found.rbegin(), found.rend()};
}

// Assigns the remaining instances to the GPUs one after another; `chosen` are indices into
// `layouts`.
void fill(const Layouts& layouts, std::uint32_t gpus, Counts& left,
          std::vector<std::size_t>& chosen, std::vector<Arrangement>& all) {
  if (gpus == 0) {
    if (std::ranges::any_of(left, [](int n) { return n != 0; })) return;
    Arrangement arrangement;
    for (const std::size_t i : chosen) arrangement.push_back(layouts[i].second);
    all.push_back(std::move(arrangement));
    return;
  }
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const Counts& counts = layouts[i].first;
    if (!std::ranges::equal(counts, left, std::ranges::less_equal())) continue;
    std::ranges::transform(left, counts, left.begin(), std::minus());
    chosen.push_back(i);
    fill(layouts, gpus - 1, left, chosen, all);
    chosen.pop_back();
    std::ranges::transform(left, counts, left.begin(), std::plus());
  }
}

}  // namespace

Result<std::vector<Arrangement>> arrangements(const mig::Model& model,
                                              const std::vector<Share>& multiset,
                                              std::uint32_t gpus) {
  std::vector<mig::ProfileIndex> profiles;
  Counts counts;
  for (const Share& share : multiset) {
    const auto profile = model.find_profile(share.profile);
    if (!profile) return std::unexpected(profile.error());
    profiles.push_back(*profile);
    counts.push_back(share.count);
  }
  const Layouts layouts = layouts_of(model, profiles, counts);
  std::vector<Arrangement> all;
  std::vector<std::size_t> chosen;
  fill(layouts, gpus, counts, chosen, all);
  if (all.empty()) {
    return invalid(cat("no arrangement of the instances fits on ", gpus, " GPUs of model ",
                       model.name(), "; use fewer or smaller ones."));
  }
  return all;
}

}  // namespace tangram::sim
