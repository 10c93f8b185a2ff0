// `elasticbatch-style`, after the deploy manager of ElasticBatch, whose step list was not
// available: not a faithful port. Best fit over the GPUs, the driver's own start there. Meant for
// a queue that serves the largest profile first.
#include "mig/driver.hpp"
#include "policies/placement.hpp"

namespace tangram::policies {

core::Key elasticbatch_style_key(const core::Node& node, const core::Request& request,
                                 const core::Slot& slot) {
  const Seen seen = look(node, request, slot);
  const auto drivers = mig::driver_start(seen.model, seen.gpu.occupied, seen.placement.profile);
  return {free_slices(seen.model, seen.after), slot.gpu.value(), drivers == slot.start ? 0 : 1,
          slot.start};
}

}  // namespace tangram::policies
