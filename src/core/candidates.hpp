// Candidates: every (GPU, start) where a requested profile is valid and free (§IV-C), and the
// plain choice among them: look at all, take the smallest key. It serves every policy and is the
// oracle of the indexed ones. One rule: what may be a candidate at all is decided here, once.
#pragma once

#include <algorithm>
#include <optional>

#include "core/node.hpp"
#include "core/policy.hpp"

namespace tangram::core {

[[nodiscard]] inline bool avoided(const Node& node, const Request& request, GpuId gpu, int start) {
  return std::ranges::any_of(request.avoid, [&](const BackOff& b) {
    return b.gpu == gpu && b.start == start && b.until > node.now();
  });
}

// Calls visit(Slot) for each candidate on this GPU, in table order of the starts.
template <class Visit>
void for_each_candidate(const Node& node, const Request& request, GpuId g, bool only_idle,
                        Visit visit) {
  const Gpu& gpu = node.gpu(g);
  if (!gpu.takes_jobs()) return;
  const auto profile = node.profile_on(gpu.model, request.profile);
  if (!profile || (gpu.allowed >> profile->value() & 1U) == 0) return;
  const mig::Model& model = node.model(gpu.model);
  const bool must_reuse = only_idle || node.partitioning() == Partitioning::kStatic;
  for (const int start : model.profile(*profile).starts) {
    const mig::Placement placement{*profile, static_cast<std::uint8_t>(start)};
    if (!model.fits(gpu.occupied, placement) || avoided(node, request, g, start)) continue;
    const bool reuse = node.idle_at(g, placement) != nullptr;
    if (reuse || !must_reuse) visit(Slot{g, placement.start, reuse});
  }
}

// The smallest key over all candidates; the first met on equal keys.
[[nodiscard]] std::optional<Slot> choose_plainly(const Node& node, const PlacementPolicy& policy,
                                                 const Request& request);

// The policy's choice: by the index where it can, else plainly.
[[nodiscard]] std::optional<Slot> choose(const Node& node, const PlacementPolicy& policy,
                                         const Request& request);

}  // namespace tangram::core
