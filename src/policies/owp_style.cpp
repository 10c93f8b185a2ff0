// `owp-style`, after "Optimal Workload Placement on Multi-Instance GPUs" (arXiv 2409.06646), whose
// step list was not available: not a faithful port. Used GPUs before empty ones, the fullest
// first; there the start that strands the fewest slices, ties the highest start. Meant for a
// queue ordered by memory, then compute, descending.
#include "policies/placement.hpp"

namespace tangram::policies {

core::Key owp_style_key(const core::Node& node, const core::Request& request,
                        const core::Slot& slot) {
  const Seen seen = look(node, request, slot);
  return {seen.gpu.occupied == mig::kEmpty ? 1 : 0, free_slices(seen.model, seen.gpu.occupied),
          slot.gpu.value(), stranded_slices(seen.model, seen.after), -std::int64_t{slot.start}};
}

}  // namespace tangram::policies
