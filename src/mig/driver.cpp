// See driver.hpp.
#include "mig/driver.hpp"

namespace tangram::mig {
namespace {

int legal_placements(const Model& model, Occupancy o) {
  int count = 0;
  for (std::size_t i = 0; i < model.profiles().size(); ++i) {
    count += model.feasible(o, ProfileIndex(static_cast<std::uint8_t>(i)));
  }
  return count;
}

}  // namespace

std::optional<int> driver_start(const Model& model, Occupancy occupancy, ProfileIndex profile) {
  std::optional<int> best;
  int most = 0;
  for (int start = 0; start < model.memory_slices(); ++start) {
    const Placement p{profile, static_cast<std::uint8_t>(start)};
    if (!model.fits(occupancy, p)) continue;
    const int left = legal_placements(model, model.with(occupancy, p));
    if (!best || left > most) {
      best = start;
      most = left;
    }
  }
  return best;
}

}  // namespace tangram::mig
