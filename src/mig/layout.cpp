// See layout.hpp.
#include "mig/layout.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "mig/limits.hpp"

namespace tangram::mig {
namespace {

std::vector<ProfileIndex> profiles_of(std::span<const Placement> placements) {
  std::vector<ProfileIndex> profiles;
  for (const Placement& p : placements) profiles.push_back(p.profile);
  return profiles;
}

// Depth first, placements in ascending order of start, so that every set is met once.
struct LayoutWalk {
  const Model& model;
  std::span<const ProfileIndex> profiles;
  const std::function<void(std::span<const Placement>, Occupancy)>& on_layout;
  std::vector<Placement> placements{};

  void from(int first_start, Occupancy o) {
    on_layout(placements, o);
    for (int start = first_start; start < model.memory_slices(); ++start) {
      for (const ProfileIndex profile : profiles) {
        const Placement p{profile, static_cast<std::uint8_t>(start)};
        if (!model.fits(o, p)) continue;
        if (!within_limits(model, profiles_of(placements), profile)) continue;
        placements.push_back(p);
        from(start + 1, model.with(o, p));
        placements.pop_back();
      }
    }
  }
};

}  // namespace

Result<PlacementText> parse_placement(std::string_view text) {
  const std::size_t at = text.find('@');
  const auto start = at == std::string_view::npos
                         ? std::nullopt
                         : parse_int(text.substr(at + 1), 0, kMaxMemorySlices - 1);
  if (at == 0 || !start) {
    return invalid(cat("cannot read the placement ", quoted(text),
                       "; write PROFILE@START, e.g. 2g.10gb@4, with a start from 0 to ",
                       kMaxMemorySlices - 1, "."));
  }
  return PlacementText{std::string(text.substr(0, at)), *start};
}

Result<Layout> Layout::make(const Model& model, std::span<const PlacementText> placements) {
  Layout layout;
  std::vector<ProfileIndex> present;
  layout.placements_.reserve(placements.size());
  present.reserve(placements.size());
  for (const PlacementText& text : placements) {
    const Result<ProfileIndex> profile = model.find_profile(text.profile);
    if (!profile) return std::unexpected(profile.error());
    const Result<Placement> placement = model.placement(*profile, text.start);
    if (!placement) return std::unexpected(placement.error());
    for (const Placement& other : layout.placements_) {
      if ((model.range(other) & model.range(*placement)) == 0) continue;
      return invalid(cat(to_string(model, *placement), " overlaps ", to_string(model, other),
                         ": both take memory slices from ", std::max(placement->start, other.start),
                         " on."));
    }
    if (auto why = limit_broken(model, present, *profile)) {
      return invalid(cat(to_string(model, *placement), " is one too many: ", *why));
    }
    layout.placements_.push_back(*placement);
    present.push_back(*profile);
    layout.occupancy_ = model.with(layout.occupancy_, *placement);
  }
  return layout;
}

std::string to_string(const Model& model, Placement placement) {
  return cat(model.profile(placement.profile).name, '@', placement.start);
}

void for_each_layout(const Model& model, std::span<const ProfileIndex> profiles,
                     const std::function<void(std::span<const Placement>, Occupancy)>& on_layout) {
  LayoutWalk{.model = model, .profiles = profiles, .on_layout = on_layout}.from(0, kEmpty);
}

}  // namespace tangram::mig
