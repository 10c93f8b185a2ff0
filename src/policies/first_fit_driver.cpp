// `first-fit-driver`: the first GPU where it fits, at the start that the driver itself would pick.
#include "mig/driver.hpp"
#include "policies/placement.hpp"

namespace tangram::policies {

core::Key first_fit_driver_key(const core::Node& node, const core::Request& request,
                               const core::Slot& slot) {
  const Seen seen = look(node, request, slot);
  const auto drivers = mig::driver_start(seen.model, seen.gpu.occupied, seen.placement.profile);
  return {slot.gpu.value(), drivers == slot.start ? 0 : 1, slot.start};
}

}  // namespace tangram::policies
