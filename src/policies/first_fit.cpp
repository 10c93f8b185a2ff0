// `first-fit`: GPUs in index order, starts in table order: what NVIDIA's DRA driver does today.
// With only_idle, or on a static layout, it is the ablation's baseline: the first idle instance of
// exactly the profile.
#include <algorithm>

#include "policies/placement.hpp"

namespace tangram::policies {

core::Key first_fit_key(const core::Node& node, const core::Request& request,
                        const core::Slot& slot) {
  const Seen seen = look(node, request, slot);
  const auto& starts = seen.model.profile(seen.placement.profile).starts;
  return {slot.gpu.value(), std::ranges::find(starts, int{slot.start}) - starts.begin()};
}

}  // namespace tangram::policies
