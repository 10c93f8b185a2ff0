// Layout: the placements that stand on one GPU, together. It is what people write down
// ("2g.10gb@4 1g.5gb@6") and what the 723 reachable layouts of an A100 are; the scheduler itself
// works on Occupancy. One rule: a Layout that was made here is legal: no overlap, legal starts,
// within the instance limits.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "mig/model.hpp"

namespace tangram::mig {

// A placement as written, before any model has been asked.
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

// Calls `visit` with every reachable layout once, smaller ones first within a branch; placements
// are sorted by start. `profiles` are those to use: model.representatives() gives the paper's
// layouts, all profiles also the engine variants within their limits.
void for_each_layout(const Model& model, std::span<const ProfileIndex> profiles,
                     const std::function<void(std::span<const Placement>, Occupancy)>& visit);

}  // namespace tangram::mig
