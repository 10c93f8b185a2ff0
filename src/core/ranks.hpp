// Ranks: everything about the order of preference of one GPU model that does not depend on the GPUs
// of the node. For an arrival: all occupancy states that can take a profile, the best first (Lazy
// before Busy, then the lowest resulting FragCost). For an inter-GPU move: all ways a job can leave
// a GPU (state, profile, start), the lowest remaining FragCost first. The index keeps one bit per
// rank, so the best non-empty state is a find-first-bit. Depends on the model and the threshold
// only; recomputed when the threshold changes.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/threshold.hpp"
#include "mig/model.hpp"

namespace tangram::core {

inline constexpr std::uint16_t kNoRank = 0xFFFF;

// The states that can take one geometry, best first.
struct ArrivalOrder {
  struct Rank {
    mig::Occupancy state;
    bool busy = false;
    std::int32_t units = 0;  // FragCost after the placement
  };
  std::vector<Rank> ranks;
  std::vector<std::uint16_t> rank_of;  // by state; kNoRank: the profile does not fit

  [[nodiscard]] bool tied(std::size_t a, std::size_t b) const {
    return ranks[a].busy == ranks[b].busy && ranks[a].units == ranks[b].units;
  }
};

// One way a job can leave a GPU.
struct Leaving {
  mig::Occupancy state;
  mig::Placement placement;
  std::int32_t units = 0;  // FragCost left behind
};

class Ranks {
 public:
  Ranks(const mig::Model& model, Threshold threshold);

  [[nodiscard]] const ArrivalOrder& arrival(int geometry) const {
    return arrivals_[static_cast<std::size_t>(geometry)];
  }
  [[nodiscard]] bool busy(mig::Occupancy o) const { return busy_[o.value()]; }
  [[nodiscard]] bool busy_at(int compute_used) const {
    return busy_at_[static_cast<std::size_t>(compute_used)];
  }

  // Leavings are grouped by profile and compute slices used (the conditions of a move are about
  // these), and sorted by cost within a group: group g holds [first(g), first(g + 1)).
  [[nodiscard]] const std::vector<Leaving>& leavings() const { return leavings_; }
  [[nodiscard]] std::size_t group(mig::ProfileIndex p, int compute_used) const {
    return p.value() * (busy_at_.size()) + static_cast<std::size_t>(compute_used);
  }
  [[nodiscard]] std::uint32_t first(std::size_t group) const { return group_first_[group]; }
  static constexpr std::uint32_t kNoLeaving = std::numeric_limits<std::uint32_t>::max();
  [[nodiscard]] std::uint32_t leaving_of(mig::Occupancy state, mig::Placement p) const {
    return leaving_of_[leaving_key(state, p)];
  }

 private:
  void rank_arrivals(const mig::Model& model);
  void rank_leavings(const mig::Model& model);
  [[nodiscard]] std::size_t leaving_key(mig::Occupancy state, mig::Placement p) const {
    return (state.value() * profiles_ + p.profile.value()) * slices_ + p.start;
  }

  std::size_t profiles_;
  std::size_t slices_;
  std::vector<bool> busy_;     // by state
  std::vector<bool> busy_at_;  // by compute slices used
  std::vector<ArrivalOrder> arrivals_;
  std::vector<Leaving> leavings_;
  std::vector<std::uint32_t> group_first_;
  std::vector<std::uint32_t> leaving_of_;
};

}  // namespace tangram::core
