// `best-fit`: the GPU with the fewest free memory slices after the placement (the lowest of
// equals), there the start with the lowest FragCost; ties: reuse, the highest start.
#include "policies/placement.hpp"

namespace tangram::policies {

core::Key best_fit_key(const core::Node& node, const core::Request& request,
                       const core::Slot& slot) {
  const Seen seen = look(node, request, slot);
  return {free_slices(seen.model, seen.after), slot.gpu.value(),
          node.cost(seen.gpu.model, seen.after), slot.reuse ? 0 : 1, -std::int64_t{slot.start}};
}

}  // namespace tangram::policies
