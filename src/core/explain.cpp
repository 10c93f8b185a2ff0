// See explain.hpp: arrivals.
#include "core/explain.hpp"

#include <algorithm>
#include <array>

#include "core/candidates.hpp"

namespace tangram::core {
namespace {

NoCandidate why_none(const Node& node, const Request& request, bool only_idle, GpuId g) {
  const Gpu& gpu = node.gpu(g);
  if (gpu.health == Health::kLost) return NoCandidate::kLost;
  if (gpu.health == Health::kUnresponsive) return NoCandidate::kUnresponsive;
  if (gpu.draining) return NoCandidate::kDraining;
  if (gpu.cordoned) return NoCandidate::kCordoned;
  const auto profile = node.profile_on(gpu.model, request.profile);
  if (!profile) return NoCandidate::kNoProfile;
  if (request.queued.contains(gpu.model)) return NoCandidate::kQueued;
  if (!request.models.contains(gpu.model)) return NoCandidate::kOtherModel;
  if (only_idle || node.partitioning() == Partitioning::kStatic) return NoCandidate::kNoIdle;
  const mig::Model& model = node.model(gpu.model);
  if (model.ideal(gpu.occupied, *profile) == 0) return NoCandidate::kSlicesShort;
  if (model.feasible(gpu.occupied, *profile) == 0) return NoCandidate::kFragmented;
  if ((gpu.allowed >> profile->value() & 1U) == 0) return NoCandidate::kLimit;
  for (const int start : model.profile(*profile).starts) {
    const mig::Placement placement{*profile, static_cast<std::uint8_t>(start)};
    if (!model.fits(gpu.occupied, placement)) continue;
    if (delays_reservation(node, request, g, placement)) return NoCandidate::kReserved;
  }
  return NoCandidate::kBackOff;
}

// The instances at the profile's legal starts that stay when jobs end.
std::vector<Standing> standing_in(const Node& node, const Request& request, GpuId g) {
  const auto profile = node.profile_on(node.gpu(g).model, request.profile);
  if (!node.gpu(g).takes_jobs() || !profile) return {};
  if (!request.models.contains(node.gpu(g).model)) return {};
  const mig::Model& model = node.model(g);
  mig::SliceMask places = 0;
  for (const int start : model.profile(*profile).starts) {
    places |= model.range({*profile, static_cast<std::uint8_t>(start)});
  }
  std::vector<Standing> standing;
  for (const Entry& e : node.entries(g)) {
    const bool stays = e.state == EntryState::kForeign || e.state == EntryState::kQuarantined;
    if (!stays || (model.range(e.placement) & places) == 0) continue;
    standing.push_back({model.profile(e.placement.profile).name, e.placement.start, e.state});
  }
  std::ranges::sort(standing, {}, &Standing::start);
  return standing;
}

}  // namespace

std::string_view name_of(NoCandidate why) {
  static constexpr std::array<std::string_view, 13> kWords{
      "cordoned",
      "draining",
      "unresponsive: the driver does not answer for it",
      "lost: the driver has it no more",
      "does not have the profile",
      "of another model than requested",
      "its instance limits admit no more",
      "too few free slices",
      "fragmented: enough free slices, but not at a legal start",
      "its free places failed this job lately",
      "kept for an earlier waiting job",
      "its free places are reserved for waiting jobs",
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
      result.without.push_back(
          {g, why_none(node, request, policy.only_idle, g), standing_in(node, request, g)});
    }
  }
  std::ranges::sort(result.candidates, {}, [](const ExplainedCandidate& c) {
    return std::pair(c.key, c.slot);  // the slot: keys may be equal, the order must not vary
  });
  if (result.candidates.size() > 1) {
    const Key& first = result.candidates[0].key;
    const Key& second = result.candidates[1].key;
    const auto differs = std::ranges::mismatch(first, second).in1;
    const auto part = static_cast<std::size_t>(differs - first.begin());
    if (part < policy.criteria.size()) result.decided_by = part;
  }
  return result;
}

namespace {

std::string_view why_it_stays(const Node& node, const PlacementPolicy& policy, const Entry& e) {
  if (e.job == kNoJob) {
    return e.state == EntryState::kForeign ? "a foreign instance" : "quarantined";
  }
  const Job& job = node.job(e.job);
  if (job.moving()) return "being moved";
  if (job.kind == JobKind::kLease) return "a lease: awaited";
  if (!job.allowed_to_move) return "pinned: awaited";
  if (job.phase != JobPhase::kRunning || job.main.stopping) return "starting or stopping: awaited";
  if (job.cooldown_until > node.now()) return "started or moved lately: its cooldown runs";
  const Request request = node.request_of(job);
  return choose(node, policy, request) ? "its move is next" : "no place elsewhere";
}

}  // namespace

std::vector<DrainHoldUp> drain_hold_ups(const Node& node, const PlacementPolicy& policy,
                                        GpuId gpu) {
  std::vector<DrainHoldUp> result;
  for (const Entry& e : node.entries(gpu)) {
    if (!e.occupies()) continue;
    const auto job = e.job == kNoJob ? std::nullopt : std::optional(node.job(e.job).id);
    result.push_back({e.id, job, why_it_stays(node, policy, e)});
  }
  return result;
}

}  // namespace tangram::core
