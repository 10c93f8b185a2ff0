// `fgd-style`, as FGD (ATC'23) over slices: the expected number of free memory slices that the
// next job could not use, under the recent mix of requests; the smallest increase wins; ties:
// reuse, the lowest GPU, the highest start. A request that fits nowhere on the GPU makes all its
// free slices unusable; one that fits leaves unusable what no start of its profile covers.
#include <bit>

#include "policies/placement.hpp"

namespace tangram::policies {
namespace {

int unusable_slices(const mig::Model& model, mig::Occupancy o, mig::ProfileIndex p) {
  unsigned usable = 0;
  for (int start = 0; start < model.memory_slices(); ++start) {
    const mig::Placement placement{p, static_cast<std::uint8_t>(start)};
    if (model.fits(o, placement)) usable |= model.range(placement);
  }
  return free_slices(model, o) - std::popcount(usable);
}

std::int64_t expected_unusable(const core::Node& node, core::ModelId m, mig::Occupancy o) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < node.name_count(); ++i) {
    const core::ProfileName name(static_cast<std::uint16_t>(i));
    const auto profile = node.profile_on(m, name);
    if (!profile) continue;
    sum += std::int64_t{node.recent(name)} * unusable_slices(node.model(m), o, *profile);
  }
  return sum;
}

}  // namespace

core::Key fgd_style_key(const core::Node& node, const core::Request& request,
                        const core::Slot& slot) {
  const Seen seen = look(node, request, slot);
  const core::ModelId m = seen.gpu.model;
  return {expected_unusable(node, m, seen.after) - expected_unusable(node, m, seen.gpu.occupied),
          slot.reuse ? 0 : 1, slot.gpu.value(), -std::int64_t{slot.start}};
}

}  // namespace tangram::policies
