// `min-delta` (after arXiv 2511.18906): the smallest increase of FragCost over all GPUs; ties:
// reuse, the lowest GPU, the highest start.
#include "policies/placement.hpp"

namespace tangram::policies {

core::Key min_delta_key(const core::Node& node, const core::Request& request,
                        const core::Slot& slot) {
  const Seen seen = look(node, request, slot);
  const core::ModelId m = seen.gpu.model;
  return {node.cost(m, seen.after) - node.cost(m, seen.gpu.occupied), slot.reuse ? 0 : 1,
          slot.gpu.value(), -std::int64_t{slot.start}};
}

}  // namespace tangram::policies
