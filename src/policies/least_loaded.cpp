// `least-loaded`: the GPU with the lowest load before the placement, then the lowest FragCost
// after it; ties: reuse, the lowest GPU, the highest start.
#include "policies/placement.hpp"

namespace tangram::policies {

core::Key least_loaded_key(const core::Node& node, const core::Request& request,
                           const core::Slot& slot) {
  constexpr std::int64_t kScale = 720'720;  // divisible by every number of compute slices up to 16
  const Seen seen = look(node, request, slot);
  const std::int64_t load =
      kScale / seen.model.compute_slices() * seen.model.compute_used(seen.gpu.occupied);
  return {load, node.cost(seen.gpu.model, seen.after), slot.reuse ? 0 : 1, slot.gpu.value(),
          -std::int64_t{slot.start}};
}

}  // namespace tangram::policies
