// `hami-style`: the position that leaves the largest free run of memory slices, then the most
// legal placements; ties: the lowest GPU, the highest start.
#include <algorithm>

#include "policies/placement.hpp"

namespace tangram::policies {
namespace {

int largest_free_run(const mig::Model& model, mig::Occupancy o) {
  int longest = 0;
  int run = 0;
  for (int slice = 0; slice < model.memory_slices(); ++slice) {
    run = (model.slices(o) >> slice & 1) != 0 ? 0 : run + 1;
    longest = std::max(longest, run);
  }
  return longest;
}

int legal_placements(const mig::Model& model, mig::Occupancy o) {
  int count = 0;
  for (const mig::ProfileIndex p : model.representatives()) count += model.feasible(o, p);
  return count;
}

}  // namespace

core::Key hami_style_key(const core::Node& node, const core::Request& request,
                         const core::Slot& slot) {
  const Seen seen = look(node, request, slot);
  return {-largest_free_run(seen.model, seen.after), -legal_placements(seen.model, seen.after),
          slot.gpu.value(), -std::int64_t{slot.start}};
}

}  // namespace tangram::policies
