// Candidates: every (GPU, start) where a requested profile is valid and free (§IV-C), and the plain
// choice among them: the smallest key over all. It serves every policy and is the oracle of the
// indexed ones. What is a candidate is decided here only.
#pragma once

#include <algorithm>
#include <optional>

#include "core/node.hpp"
#include "core/policy.hpp"
#include "core/reservation.hpp"

namespace tangram::core {

[[nodiscard]] inline bool avoided(const Node& node, const Request& request, GpuId gpu, int start) {
  return std::ranges::any_of(request.avoid, [&](const BackOff& b) {
    return b.gpu == gpu && b.start == start && b.until > node.now();
  });
}

// Calls on_candidate(Slot) for each candidate on this GPU, in table order of the starts.
template <class OnCandidate>
void for_each_candidate(const Node& node, const Request& request, GpuId g, bool only_idle,
                        OnCandidate on_candidate) {
  const Gpu& gpu = node.gpu(g);
  if (!gpu.takes_jobs() || !request.models.contains(gpu.model)) return;
  const auto profile = node.profile_on(gpu.model, request.profile);
  if (!profile || (gpu.allowed >> profile->value() & 1U) == 0) return;
  const mig::Model& model = node.model(gpu.model);
  const bool must_reuse = only_idle || node.partitioning() == Partitioning::kStatic;
  for (const int start : model.profile(*profile).starts) {
    const mig::Placement placement{*profile, static_cast<std::uint8_t>(start)};
    if (!model.fits(gpu.occupied, placement) || avoided(node, request, g, start)) continue;
    if (delays_reservation(node, request, g, placement)) continue;
    const bool reuse = node.idle_at(g, placement) != nullptr;
    if (reuse || !must_reuse) on_candidate(Slot{g, placement.start, reuse});
  }
}

// Returns the smallest key over all candidates; the first one on equal keys.
[[nodiscard]] std::optional<Slot> choose_plainly(const Node& node, const PlacementPolicy& policy,
                                                 const Request& request);

// Returns the policy's choice: by the index if it has one, else plainly.
[[nodiscard]] std::optional<Slot> choose(const Node& node, const PlacementPolicy& policy,
                                         const Request& request);

}  // namespace tangram::core
