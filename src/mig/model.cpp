// See model.hpp: the queries that are more than one table look-up.
#include "mig/model.hpp"

#include <algorithm>
#include <bit>

#include "base/text.hpp"

namespace tangram::mig {

Result<ProfileIndex> Model::find_profile(std::string_view name) const {
  for (std::size_t i = 0; i < spec_.profiles.size(); ++i) {
    if (spec_.profiles[i].name == name) return ProfileIndex(static_cast<std::uint8_t>(i));
  }
  std::vector<std::string> names;
  for (const Profile& p : spec_.profiles) names.push_back(p.name);
  const auto near = nearest_profile(name, names);
  return not_found(cat(spec_.name, " has no profile ", quoted(name),
                       near ? cat("; did you mean ", *near, "?") : std::string("."),
                       " Its profiles: ", join_words(names), "."));
}

Result<Placement> Model::placement(ProfileIndex p, int start) const {
  const Profile& wanted = profile(p);
  if (std::ranges::find(wanted.starts, start) == wanted.starts.end()) {
    std::vector<std::string> starts;
    for (const int legal : wanted.starts) starts.push_back(std::to_string(legal));
    return invalid(cat("a ", wanted.name, " cannot start at ", start, " on ", spec_.name,
                       "; allowed: ", join_words(starts), "."));
  }
  return Placement{p, static_cast<std::uint8_t>(start)};
}

Occupancy Model::with(Occupancy o, Placement p) const {
  CHECK(fits(o, p));
  const State& from = state(o);
  const auto compute = static_cast<unsigned>(compute_of(p.profile));
  const std::uint16_t to =
      state_of_key_[key(static_cast<unsigned>(from.slices | range(p)), from.compute + compute)];
  CHECK(to != kNoState);
  return Occupancy(to);
}

Occupancy Model::without(Occupancy o, Placement p) const {
  const State& from = state(o);
  const unsigned mask = range(p);
  const auto compute = static_cast<unsigned>(compute_of(p.profile));
  CHECK((from.slices & mask) == mask && from.compute >= compute);
  const std::uint16_t to = state_of_key_[key(from.slices & ~mask, from.compute - compute)];
  CHECK(to != kNoState);
  return Occupancy(to);
}

int Model::ideal(Occupancy o, ProfileIndex p) const {
  const Profile& wanted = profile(p);
  const int remaining_compute = compute_slices() - compute_used(o);
  const int remaining_memory = memory_slices() - std::popcount(slices(o));
  return std::min(remaining_compute / wanted.compute_slices,
                  remaining_memory / wanted.memory_slices);
}

int Model::feasible(Occupancy o, ProfileIndex p) const { return std::popcount(free_starts(o, p)); }

}  // namespace tangram::mig
