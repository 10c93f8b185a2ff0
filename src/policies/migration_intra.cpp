// `intra`: for a Busy GPU, the single move on it that lowers its FragCost most (§IV-D, intra-GPU
// steps 1–3). Ties: reuse of an idle instance, the lowest job id, the highest start (ours). A job
// keeps its slices while its replica starts, so the target must be free beside them.
#include <bit>
#include <tuple>

#include "core/restraint.hpp"
#include "policies/migration.hpp"

namespace tangram::policies {
namespace {

// Whether any free start would be better for the instance than its own. Checked before the job's
// record is read: on most GPUs no move gains anything, and a record is a distant cache line.
bool could_gain(const core::Node& node, const core::Gpu& gpu, const core::Entry& e,
                std::int64_t present) {
  const mig::Model& model = node.model(gpu.model);
  const mig::Occupancy base = model.without(gpu.projected, e.placement);
  unsigned starts = model.free_starts(gpu.occupied, e.placement.profile);
  for (; starts != 0; starts &= starts - 1) {
    const auto start = static_cast<std::uint8_t>(std::countr_zero(starts));
    const mig::Occupancy after = model.with(base, {e.placement.profile, start});
    if (node.cost(gpu.model, after) < present) return true;
  }
  return false;
}

}  // namespace

bool enough_gain(const core::Node& node, std::int64_t before, std::int64_t after) {
  constexpr std::int64_t kMillion = 1'000'000;
  const std::int64_t wanted = node.tuning().restraint.smallest_gain_ppm;
  return (before - after) * kMillion >= wanted * node.cost_denominator();
}

core::Answer intra_next_move(const core::Node& node, core::GpuId g) {
  const core::Gpu& gpu = node.gpu(g);
  if (!gpu.takes_jobs() || !busy_after_moves(node, g)) return {};
  const mig::Model& model = node.model(gpu.model);
  const std::int64_t present = node.cost(gpu.model, gpu.projected);
  core::Restrained restrained;
  std::optional<core::Move> best;
  std::tuple<std::int64_t, bool, core::JobId, int> best_key;
  for (const core::Entry& e : node.entries(g)) {
    if (e.state != core::EntryState::kHeld || e.leaving || e.job == core::kNoJob) continue;
    if (!could_gain(node, gpu, e, present)) continue;
    const core::Job& job = node.job(e.job);
    if (!e.movable && !core::cooling(node, job)) continue;
    core::Restrained skipped;
    const auto target =
        core::best_target(node, job, g, model.without(gpu.projected, e.placement), skipped);
    if (skipped.any) restrained.until(skipped.retry);
    if (!target || target->cost >= present) continue;
    if (!e.movable) {
      restrained.until(job.cooldown_until);
      continue;
    }
    if (!enough_gain(node, present, target->cost)) {
      restrained.until(Instant::max());
      continue;
    }
    const std::tuple key(target->cost, !target->slot.reuse, job.id, -int{target->slot.start});
    if (best && !(key < best_key)) continue;
    best = core::Move{job.id, g, target->slot, core::MoveKind::kIntra, e.job};
    best_key = key;
  }
  if (best) return {best, false, Instant::max()};
  return restrained.answer();
}

}  // namespace tangram::policies
