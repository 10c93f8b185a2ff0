// `both` (the paper's method), `off`, and the plain oracles. Intra-GPU moves for a Busy GPU,
// inter-GPU moves for a Lazy one; when a move makes it Busy, intra-GPU moves follow (§IV-D; the
// last point is ours).
#include <tuple>

#include "core/restraint.hpp"
#include "policies/migration.hpp"

namespace tangram::policies {

core::Answer off_next_move(const core::Node&, core::GpuId) { return {}; }

core::Answer both_next_move(const core::Node& node, core::GpuId g) {
  return busy_after_moves(node, g) ? intra_next_move(node, g) : inter_next_move(node, g);
}

core::Answer both_next_move_plain(const core::Node& node, core::GpuId g) {
  return busy_after_moves(node, g) ? intra_next_move(node, g) : inter_next_move_plain(node, g);
}

core::Answer inter_next_move_plain(const core::Node& node, core::GpuId to) {
  const core::Gpu& gpu = node.gpu(to);
  if (!gpu.takes_jobs() || busy_after_moves(node, to)) return {};
  const mig::Model& model = node.model(gpu.model);
  core::Restrained restrained;
  std::optional<core::Move> best;
  std::tuple<std::int64_t, core::GpuId, core::JobId> best_key;
  for (std::uint32_t i = 0; i < node.gpu_count(); ++i) {
    const core::GpuId from(i);
    const core::Gpu& source = node.gpu(from);
    if (from == to || source.model != gpu.model || source.health != core::Health::kOk ||
        !busy_after_moves(node, from)) {
      continue;
    }
    for (const core::Entry& e : node.entries(from)) {
      if (e.state != core::EntryState::kHeld || e.leaving || e.job == core::kNoJob) continue;
      const core::Job& job = node.job(e.job);
      if (!e.movable && !core::cooling(node, job)) continue;
      if (!balances(model.compute_used(gpu.projected), model.compute_used(source.projected),
                    model.profile(e.placement.profile).compute_slices)) {
        continue;
      }
      core::Restrained skipped;
      const auto target = core::best_target(node, job, to, gpu.projected, skipped);
      if (!e.movable) {
        if (target || skipped.any) restrained.until(job.cooldown_until);
        continue;
      }
      if (skipped.any) restrained.until(skipped.retry);
      if (!target) continue;
      const std::int64_t left =
          node.cost(source.model, model.without(source.projected, e.placement));
      const std::tuple key(left, from, job.id);
      if (best && !(key < best_key)) continue;
      best = core::Move{job.id, from, target->slot, core::MoveKind::kInter, e.job};
      best_key = key;
    }
  }
  if (best) return {best, false, Instant::max()};
  return restrained.answer();
}

}  // namespace tangram::policies
