// See placement.hpp.
#include "policies/placement.hpp"

#include <bit>

namespace tangram::policies {

Seen look(const core::Node& node, const core::Request& request, const core::Slot& slot) {
  const core::Gpu& gpu = node.gpu(slot.gpu);
  const mig::Model& model = node.model(gpu.model);
  const mig::Placement placement{*node.profile_on(gpu.model, request.profile), slot.start};
  return {gpu, model, placement, model.with(gpu.occupied, placement)};
}

int free_slices(const mig::Model& model, mig::Occupancy o) {
  return model.memory_slices() - std::popcount(model.slices(o));
}

int stranded_slices(const mig::Model& model, mig::Occupancy o) {
  unsigned usable = 0;
  for (const mig::ProfileIndex p : model.representatives()) {
    for (int start = 0; start < model.memory_slices(); ++start) {
      const mig::Placement placement{p, static_cast<std::uint8_t>(start)};
      if (model.fits(o, placement)) usable |= model.range(placement);
    }
  }
  return free_slices(model, o) - std::popcount(usable);
}

}  // namespace tangram::policies
