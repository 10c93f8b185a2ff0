// Model: the MIG geometry of one kind of GPU, and everything that follows from an occupancy. A
// GPU's occupancy (which memory slices and how many compute slices are taken) is one of a few
// hundred states, so FragCost, feasible starts and the best start of every state are computed once,
// when the model is built; queries are table look-ups.
//
// A Model is immutable; build() rejects a specification that breaks one of the assumptions:
//  - ranges of memory slices that do not overlap never take more compute slices than there are, so
// that "free" depends on memory slices only (checked over all states);
//  - at most 16 memory slices, 16 compute slices, 32 profiles, 60,000 states.
// A Model knows no jobs, instances or limits on their number (limits.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.hpp"
#include "base/error.hpp"
#include "base/id.hpp"
#include "mig/frag_cost.hpp"
#include "mig/profile.hpp"

namespace tangram::mig {

// The index of a profile in its model's list.
using ProfileIndex = Id<struct ProfileIndexTag, std::uint8_t>;

// One state of a GPU of this model: which memory slices are taken and how many compute slices.
// Dense: 0 is the empty GPU, the others follow. Only meaningful with its model.
using Occupancy = Id<struct OccupancyTag, std::uint16_t>;
inline constexpr Occupancy kEmpty{};

// A profile at a start: a GPU instance as it could be.
struct Placement {
  ProfileIndex profile;
  std::uint8_t start = 0;

  friend auto operator<=>(const Placement&, const Placement&) = default;
};

// What a model is built from: the built-in tables, a model file, or what NVML reports.
struct ModelSpec {
  std::string name;
  int compute_slices = 0;
  int memory_slices = 0;
  bool inferred = false;                  // placements taken from a relative, not seen on this GPU
  std::vector<std::string> device_names;  // as nvmlDeviceGetName says
  std::vector<Profile> profiles;

  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

class Model {
 public:
  [[nodiscard]] static Result<Model> build(ModelSpec spec);

  [[nodiscard]] const ModelSpec& spec() const { return spec_; }
  [[nodiscard]] const std::string& name() const { return spec_.name; }
  [[nodiscard]] int compute_slices() const { return spec_.compute_slices; }
  [[nodiscard]] int memory_slices() const { return spec_.memory_slices; }
  [[nodiscard]] const std::vector<Profile>& profiles() const { return spec_.profiles; }
  [[nodiscard]] const Profile& profile(ProfileIndex p) const { return spec_.profiles[p.value()]; }

  // The profile of that name; the error names the nearest one and all that exist.
  [[nodiscard]] Result<ProfileIndex> find_profile(std::string_view name) const;
  // A legal placement, free or not; the error lists the legal starts.
  [[nodiscard]] Result<Placement> placement(ProfileIndex profile, int start) const;

  // Geometries: profiles with the same compute, size and starts share one; FragCost averages
  // over geometries (the paper's M without the engine variants).
  [[nodiscard]] int geometry_count() const { return static_cast<int>(representatives_.size()); }
  [[nodiscard]] int geometry_of(ProfileIndex p) const { return geometry_of_[p.value()]; }
  // The first profile of each geometry, in the order of the list.
  [[nodiscard]] const std::vector<ProfileIndex>& representatives() const {
    return representatives_;
  }

  // States.
  [[nodiscard]] int state_count() const { return static_cast<int>(states_.size()); }
  [[nodiscard]] SliceMask slices(Occupancy o) const { return state(o).slices; }
  [[nodiscard]] int compute_used(Occupancy o) const { return state(o).compute; }
  [[nodiscard]] SliceMask range(Placement p) const {
    return static_cast<SliceMask>(size_mask_[p.profile.value()] << p.start);
  }
  [[nodiscard]] bool overlap(Placement a, Placement b) const { return (range(a) & range(b)) != 0; }
  // The state with p added (its range must be free) or taken away (it must be held).
  [[nodiscard]] Occupancy with(Occupancy o, Placement p) const;
  [[nodiscard]] Occupancy without(Occupancy o, Placement p) const;
  // The state with these slices and this much compute taken; some layout must have it.
  [[nodiscard]] Occupancy state_of(SliceMask slices, int compute) const {
    const std::uint16_t s = state_of_key_[key(slices, static_cast<unsigned>(compute))];
    CHECK(s != kNoState);
    return Occupancy(s);
  }
  [[nodiscard]] int compute_of(ProfileIndex p) const { return compute_of_[p.value()]; }
  [[nodiscard]] bool fits(Occupancy o, Placement p) const {
    return ((free_starts(o, p.profile) >> p.start) & 1U) != 0;
  }

  // Eq. 3: how many would fit if MIG had no rules. Eq. 4: at how many starts one fits.
  [[nodiscard]] int ideal(Occupancy o, ProfileIndex p) const;
  [[nodiscard]] int feasible(Occupancy o, ProfileIndex p) const;
  [[nodiscard]] SliceMask free_starts(Occupancy o, ProfileIndex p) const {
    return free_starts_[cell(o, p)];
  }
  // Eq. 5 with 0/0 := 1: a profile that could not fit even without MIG's rules is not lost to
  // fragmentation, so an empty and a full GPU both cost 0.
  [[nodiscard]] FragCost frag_cost(Occupancy o) const { return {frag_units(o), denominator_}; }
  [[nodiscard]] std::int32_t frag_units(Occupancy o) const { return state(o).frag_units; }
  [[nodiscard]] std::int32_t frag_denominator() const { return denominator_; }
  // The free start that leaves the lowest FragCost; ties: the highest start.
  [[nodiscard]] std::optional<int> best_start(Occupancy o, ProfileIndex p) const {
    const std::uint8_t start = best_start_[cell(o, p)];
    return start == kNoStart ? std::nullopt : std::optional<int>(start);
  }
  // All free starts that leave that lowest FragCost.
  [[nodiscard]] SliceMask best_starts(Occupancy o, ProfileIndex p) const {
    return best_starts_[cell(o, p)];
  }

 private:
  struct State {
    std::int32_t frag_units = 0;
    SliceMask slices = 0;
    std::uint8_t compute = 0;
  };
  static constexpr std::uint16_t kNoState = 0xFFFF;
  static constexpr std::uint8_t kNoStart = 0xFF;

  Model() = default;
  void group_geometries();
  Result<void> enumerate_states();
  void compute_costs();
  void compute_best_starts();
  [[nodiscard]] std::size_t key(unsigned slices, unsigned compute) const {
    return slices * (static_cast<std::size_t>(spec_.compute_slices) + 1) + compute;
  }
  [[nodiscard]] const State& state(Occupancy o) const { return states_[o.value()]; }
  [[nodiscard]] std::size_t cell(Occupancy o, ProfileIndex p) const {
    return o.value() * representatives_.size() + static_cast<std::size_t>(geometry_of_[p.value()]);
  }

  ModelSpec spec_;
  std::vector<std::uint8_t> geometry_of_;      // by profile
  std::vector<ProfileIndex> representatives_;  // by geometry
  std::vector<std::uint16_t> size_mask_;       // by profile: its range at start 0
  std::vector<std::uint8_t> compute_of_;       // by profile
  std::vector<std::uint16_t> state_of_key_;    // by key(): dense state or kNoState
  std::vector<State> states_;                  // by Occupancy
  std::vector<SliceMask> free_starts_;         // by cell()
  std::vector<std::uint8_t> best_start_;       // by cell()
  std::vector<SliceMask> best_starts_;         // by cell()
  std::int32_t denominator_ = 1;
};

}  // namespace tangram::mig
