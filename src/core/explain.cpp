// See explain.hpp: arrivals.
#include "core/explain.hpp"

#include <algorithm>
#include <array>

#include "core/candidates.hpp"

namespace tangram::core {
namespace {

NoCandidate why_none(const Node& node, const Request& request, bool only_idle, GpuId g) {
  const Gpu& gpu = node.gpu(g);
  if (!gpu.takes_jobs()) return NoCandidate::kOutOfService;
  const auto profile = node.profile_on(gpu.model, request.profile);
  if (!profile) return NoCandidate::kNoProfile;
  const mig::Model& model = node.model(gpu.model);
  if (model.ideal(gpu.occupied, *profile) == 0) return NoCandidate::kSlicesShort;
  if (model.feasible(gpu.occupied, *profile) == 0) return NoCandidate::kFragmented;
  if ((gpu.allowed >> profile->value() & 1U) == 0) return NoCandidate::kLimit;
  const bool must_reuse = only_idle || node.partitioning() == Partitioning::kStatic;
  return must_reuse ? NoCandidate::kNoIdle : NoCandidate::kBackOff;
}

}  // namespace

std::string_view name_of(NoCandidate why) {
  static constexpr std::array<std::string_view, 7> kWords{
      "out of service",
      "does not have the profile",
      "its instance limits admit no more",
      "too few free slices",
      "fragmented: enough free slices, but not at a legal start",
      "its free places failed this job lately",
      "no idle instance of exactly this profile"};
  return kWords[static_cast<std::size_t>(why)];
}

ArrivalExplanation explain_arrival(const Node& node, const PlacementPolicy& policy,
                                   const Request& request) {
  ArrivalExplanation result;
  for (std::uint32_t i = 0; i < node.gpu_count(); ++i) {
    const GpuId g(i);
    const std::size_t before = result.candidates.size();
    for_each_candidate(node, request, g, policy.only_idle, [&](const Slot& slot) {
      const Gpu& gpu = node.gpu(g);
      const mig::Model& model = node.model(gpu.model);
      const mig::Placement p{*node.profile_on(gpu.model, request.profile), slot.start};
      result.candidates.push_back({slot, node.busy(g), model.frag_cost(gpu.occupied),
                                   model.frag_cost(model.with(gpu.occupied, p)),
                                   policy.key(node, request, slot)});
    });
    if (result.candidates.size() == before) {
      result.without.push_back({g, why_none(node, request, policy.only_idle, g)});
    }
  }
  std::ranges::stable_sort(result.candidates, {}, &ExplainedCandidate::key);
  if (result.candidates.size() > 1) {
    const Key& first = result.candidates[0].key;
    const Key& second = result.candidates[1].key;
    const auto differs = std::ranges::mismatch(first, second).in1;
    const auto part = static_cast<std::size_t>(differs - first.begin());
    if (part < policy.criteria.size()) result.decided_by = part;
  }
  return result;
}

}  // namespace tangram::core
