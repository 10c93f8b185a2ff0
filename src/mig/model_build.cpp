// How a Model is built from its specification: check it, group the profiles into geometries, walk
// all occupancy states from the empty GPU, and fill the tables. Errors of a file or a driver are
// rejected here with the reason; later code relies on that.
#include <algorithm>
#include <bit>
#include <numeric>
#include <set>
#include <tuple>

#include "base/text.hpp"
#include "mig/model.hpp"

namespace tangram::mig {
namespace {

constexpr std::size_t kMaxStates = 60'000;

Result<void> check_profile(const ModelSpec& spec, const Profile& p) {
  const std::string subject = cat("profile ", quoted(p.name), " of ", spec.name, ": ");
  const auto in_range = [&](const char* what, int value, int highest) -> Result<void> {
    if (value >= 1 && value <= highest) return {};
    return invalid(cat(subject, what, " is ", value, "; allowed: 1 to ", highest, "."));
  };
  if (p.name.empty() || p.name.find_first_of("@ \t\r\n") != std::string::npos) {
    return invalid(cat(subject, "a profile name must not be empty or contain '@' or white space."));
  }
  if (auto ok = in_range("compute_slices", p.compute_slices, spec.compute_slices); !ok) return ok;
  if (auto ok = in_range("memory_slices", p.memory_slices, spec.memory_slices); !ok) return ok;
  if (auto ok = in_range("max_instances", p.max_instances, kMaxMemorySlices); !ok) return ok;
  if (p.starts.empty()) return invalid(cat(subject, "it has no start; give at least one."));
  std::set<int> seen;
  for (const int start : p.starts) {
    if (start < 0 || start > spec.memory_slices - p.memory_slices) {
      return invalid(cat(subject, "start ", start, " with size ", p.memory_slices,
                         " does not fit in ", spec.memory_slices, " memory slices; allowed: 0 to ",
                         spec.memory_slices - p.memory_slices, "."));
    }
    if (!seen.insert(start).second)
      return invalid(cat(subject, "start ", start, " is given twice."));
  }
  return {};
}

Result<void> check_spec(const ModelSpec& spec) {
  if (spec.name.empty()) return invalid("a GPU model needs a name.");
  const auto in_range = [&](const char* what, int value, int highest) -> Result<void> {
    if (value >= 1 && value <= highest) return {};
    return invalid(cat(spec.name, ": ", what, " is ", value, "; allowed: 1 to ", highest, "."));
  };
  if (auto ok = in_range("compute_slices", spec.compute_slices, kMaxComputeSlices); !ok) return ok;
  if (auto ok = in_range("memory_slices", spec.memory_slices, kMaxMemorySlices); !ok) return ok;
  const auto count = static_cast<int>(spec.profiles.size());
  if (auto ok = in_range("the number of profiles", count, kMaxProfiles); !ok) return ok;
  std::set<std::string> names;
  for (const Profile& p : spec.profiles) {
    if (auto ok = check_profile(spec, p); !ok) return ok;
    if (!names.insert(p.name).second) {
      return invalid(cat(spec.name, ": profile ", quoted(p.name), " is given twice."));
    }
  }
  return {};
}

SliceMask start_mask(const Profile& p) {
  unsigned mask = 0;
  for (const int start : p.starts) mask |= 1U << static_cast<unsigned>(start);
  return static_cast<SliceMask>(mask);
}

std::int32_t lcm_up_to(int highest) {
  std::int32_t result = 1;
  for (std::int32_t i = 2; i <= highest; ++i) result = std::lcm(result, i);
  return result;
}

}  // namespace

Result<Model> Model::build(ModelSpec spec) {
  if (auto ok = check_spec(spec); !ok) return std::unexpected(ok.error());
  Model model;
  model.spec_ = std::move(spec);
  model.group_geometries();
  if (auto ok = model.enumerate_states(); !ok) return std::unexpected(ok.error());
  model.compute_costs();
  model.compute_best_starts();
  return model;
}

void Model::group_geometries() {
  const auto shape = [](const Profile& p) {
    return std::tuple(p.compute_slices, p.memory_slices, start_mask(p));
  };
  for (std::size_t i = 0; i < spec_.profiles.size(); ++i) {
    const Profile& p = spec_.profiles[i];
    const auto same = std::ranges::find_if(
        representatives_, [&](ProfileIndex r) { return shape(profile(r)) == shape(p); });
    geometry_of_.push_back(static_cast<std::uint8_t>(same - representatives_.begin()));
    if (same == representatives_.end()) {
      representatives_.emplace_back(static_cast<std::uint8_t>(i));
    }
    compute_of_.push_back(static_cast<std::uint8_t>(p.compute_slices));
    size_mask_.push_back(static_cast<std::uint16_t>((1U << p.memory_slices) - 1U));
  }
}

// Breadth first from the empty GPU. The successors of a state depend on the state only, so this
// reaches every layout's state without enumerating the layouts.
Result<void> Model::enumerate_states() {
  const std::size_t keys = key(1U << spec_.memory_slices, 0);
  state_of_key_.assign(keys, kNoState);
  state_of_key_[0] = 0;
  states_.push_back({});
  for (std::size_t at = 0; at < states_.size(); ++at) {
    const State from = states_[at];
    for (const ProfileIndex r : representatives_) {
      const Profile& p = profile(r);
      SliceMask free = 0;
      for (const int start : p.starts) {
        const SliceMask taken = range({r, static_cast<std::uint8_t>(start)});
        if ((from.slices & taken) != 0) continue;
        free = static_cast<SliceMask>(free | (1U << static_cast<unsigned>(start)));
        const int compute = from.compute + p.compute_slices;
        if (compute > spec_.compute_slices) {
          return invalid(cat(spec_.name, ": its placements allow instances with ", compute,
                             " compute slices together (the last one a ", p.name, " at ", start,
                             "), but the GPU has ", spec_.compute_slices,
                             "; sizes or starts must be wrong."));
        }
        const auto slices = static_cast<SliceMask>(from.slices | taken);
        std::uint16_t& to = state_of_key_[key(slices, static_cast<unsigned>(compute))];
        if (to != kNoState) continue;
        if (states_.size() >= kMaxStates) {
          return invalid(cat(spec_.name, ": more than ", kMaxStates, " occupancy states."));
        }
        to = static_cast<std::uint16_t>(states_.size());
        states_.push_back({0, slices, static_cast<std::uint8_t>(compute)});
      }
      free_starts_.push_back(free);
    }
  }
  return {};
}

void Model::compute_costs() {
  int highest_ideal = 1;
  for (const ProfileIndex r : representatives_) {
    highest_ideal = std::max(highest_ideal, ideal(kEmpty, r));
  }
  const std::int32_t one = lcm_up_to(highest_ideal);
  denominator_ = one * geometry_count();
  for (std::size_t s = 0; s < states_.size(); ++s) {
    const Occupancy o(static_cast<std::uint16_t>(s));
    std::int32_t sum = 0;
    for (const ProfileIndex r : representatives_) {
      const int possible = ideal(o, r);
      sum += possible == 0 ? one : feasible(o, r) * (one / possible);
    }
    states_[s].frag_units = denominator_ - sum;
  }
}

void Model::compute_best_starts() {
  best_start_.assign(free_starts_.size(), kNoStart);
  best_starts_.assign(free_starts_.size(), 0);
  for (std::size_t s = 0; s < states_.size(); ++s) {
    const Occupancy o(static_cast<std::uint16_t>(s));
    for (const ProfileIndex r : representatives_) {
      std::int32_t best = 0;
      for (int start = 0; start < memory_slices(); ++start) {
        const Placement p{r, static_cast<std::uint8_t>(start)};
        if (!fits(o, p)) continue;
        const std::int32_t units = frag_units(with(o, p));
        std::uint8_t& chosen = best_start_[cell(o, r)];
        SliceMask& tied = best_starts_[cell(o, r)];
        if (chosen != kNoStart && units > best) continue;
        if (chosen == kNoStart || units < best) tied = 0;
        tied = static_cast<SliceMask>(tied | 1U << p.start);
        chosen = p.start;
        best = units;
      }
    }
  }
}

}  // namespace tangram::mig
