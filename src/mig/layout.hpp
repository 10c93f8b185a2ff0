// Layout: the placements on one GPU together, as in "2g.10gb@4 1g.5gb@6" or the 723 reachable
// layouts of an A100; the scheduler itself works on Occupancy. A Layout is always legal: no
// overlap, legal starts, within the instance limits.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "mig/model.hpp"

namespace tangram::mig {

// A placement as text, not checked against a model.
struct PlacementText {
  std::string profile;
  int start = 0;

  friend bool operator==(const PlacementText&, const PlacementText&) = default;
};

// "2g.10gb@4" → {2g.10gb, 4}.
[[nodiscard]] Result<PlacementText> parse_placement(std::string_view text);

class Layout {
 public:
  // In the order given; the error says which placement is wrong and what is allowed.
  [[nodiscard]] static Result<Layout> make(const Model& model,
                                           std::span<const PlacementText> placements);

  [[nodiscard]] const std::vector<Placement>& placements() const { return placements_; }
  [[nodiscard]] Occupancy occupancy() const { return occupancy_; }

 private:
  std::vector<Placement> placements_;
  Occupancy occupancy_;
};

// "2g.10gb@4"
[[nodiscard]] std::string to_string(const Model& model, Placement placement);

// Calls `on_layout` with every reachable layout once, smaller ones first within a branch;
// placements are sorted by start. `profiles`: model.representatives() gives the paper's layouts,
// all profiles also the engine variants within their limits.
void for_each_layout(const Model& model, std::span<const ProfileIndex> profiles,
                     const std::function<void(std::span<const Placement>, Occupancy)>& on_layout);

}  // namespace tangram::mig
