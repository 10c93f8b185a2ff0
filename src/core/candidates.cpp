// See candidates.hpp.
#include "core/candidates.hpp"

namespace tangram::core {

namespace {

bool is_reserved(const Node& node, const Request& request, const Slot& slot) {
  const auto profile = *node.profile_on(node.gpu(slot.gpu).model, request.profile);
  return delays_reservation(node, request, slot.gpu, {profile, slot.start});
}

}  // namespace

std::optional<Slot> choose_plainly(const Node& node, const PlacementPolicy& policy,
                                   const Request& request) {
  std::optional<Slot> best;
  Key best_key{};
  for (std::uint32_t g = 0; g < node.gpu_count(); ++g) {
    for_each_candidate(node, request, GpuId(g), policy.only_idle, [&](const Slot& slot) {
      const Key key = policy.key(node, request, slot);
      if (best && !(key < best_key)) return;
      best = slot;
      best_key = key;
    });
  }
  return best;
}

std::optional<Slot> choose(const Node& node, const PlacementPolicy& policy,
                           const Request& request) {
  if (policy.indexed == nullptr || policy.only_idle ||
      node.partitioning() == Partitioning::kStatic) {
    return choose_plainly(node, policy, request);
  }
  // The index knows neither back-offs nor reservations; its choice is valid if they allow it.
  const auto slot = policy.indexed(node, request);
  const bool barred = slot && (avoided(node, request, slot->gpu, slot->start) ||
                               (!node.reserved().empty() && is_reserved(node, request, *slot)));
  return barred ? choose_plainly(node, policy, request) : slot;
}

}  // namespace tangram::core
