// `inter`: for a Lazy GPU i, the job of a Busy GPU j of the same model whose leaving leaves j with
// the lowest FragCost, if i's load stays strictly below j's (§IV-D, inter-GPU steps 1–4). Ties:
// the lowest j, the lowest job id. It goes to the start on i with the lowest resulting FragCost.
// The ways jobs can leave are ranked once per model (core/ranks.hpp); here the first non-empty
// ones that qualify are looked at, however many GPUs there are.
#include <tuple>

#include "core/restraint.hpp"
#include "policies/migration.hpp"

namespace tangram::policies {
namespace {

using core::GpuSet;

struct InterMoveSearch {
  const core::Node& node;
  core::GpuId to;
  const core::Gpu& gpu;
  core::Restrained restrained{};
  std::optional<core::Move> best{};
  std::tuple<std::int64_t, core::GpuId, core::JobId> best_key{};

  void consider(std::int64_t cost, core::GpuId from, core::JobSlot slot) {
    const core::Job& job = node.job(slot);
    const std::tuple key(cost, from, job.id);
    if (best && !(key < best_key)) return;
    const auto target = core::best_target(node, job, to, gpu.projected, restrained);
    if (!target) return;
    best = core::Move{job.id, from, target->slot, core::MoveKind::kInter, slot};
    best_key = key;
  }

  // The GPUs from which a job can leave in this way, the lowest first. Once one was taken, the
  // others of the same way are behind it.
  void look_at(std::size_t leaving) {
    const core::Leaving& way = node.index().ranks(gpu.model).leavings()[leaving];
    const std::int64_t cost =
        way.units * (node.cost_denominator() / node.model(gpu.model).frag_denominator());
    std::uint32_t from = 0;
    while ((from = node.index().next_leaving(gpu.model, leaving, from)) != GpuSet::kNone) {
      const core::GpuId j(from++);
      if (node.gpu(j).model != gpu.model || j == to) continue;
      for (const core::Entry& e : node.entries(j)) {
        if (!e.movable || e.placement != way.placement) continue;
        if (best && std::get<0>(best_key) == cost && std::get<1>(best_key) < j) return;
        consider(cost, j, e.job);
        if (best && best->from == j && best->job == node.job(e.job).id) return;
      }
    }
  }

  // A job would move here but for the waiting one: planned again when that one is placed.
  void note_barred(mig::ProfileIndex profile, int used) {
    const core::Ranks& ranks = node.index().ranks(gpu.model);
    const std::size_t group = ranks.group(profile, used);
    const std::size_t any =
        node.index().leavings(gpu.model).next(ranks.first(group), ranks.first(group + 1));
    if (any != core::BitRow::kNone) restrained.until(Instant::max());
  }

  void look_at_group(mig::ProfileIndex profile, int used) {
    const core::Ranks& ranks = node.index().ranks(gpu.model);
    const std::size_t group = ranks.group(profile, used);
    const core::BitRow& bits = node.index().leavings(gpu.model);
    const std::int64_t scale = node.cost_denominator() / node.model(gpu.model).frag_denominator();
    for (std::size_t at = bits.next(ranks.first(group), ranks.first(group + 1));
         at != core::BitRow::kNone; at = bits.next(at + 1, ranks.first(group + 1))) {
      if (best && ranks.leavings()[at].units * scale > std::get<0>(best_key)) return;
      look_at(at);
    }
  }
};

// protect_head: whether it forbids every start of the profile here, for any job.
bool barred_by_head(const core::Node& node, core::GpuId to, mig::ProfileIndex p) {
  const bool is_protected = node.head_of(node.gpu(to).model) != core::kNoJob;
  if (!node.tuning().restraint.protect_head || !is_protected) return false;
  const auto name = node.find_name(node.model(to).profile(p).name);
  core::Job any;
  any.profile = *name;
  core::Restrained restrained;
  const auto target = core::best_target(node, any, to, node.gpu(to).projected, restrained);
  return !target && restrained.any;
}

// A job in its cooldown that would qualify after it.
void note_cooling(const core::Node& node, core::GpuId to, core::Restrained& restrained) {
  const core::Gpu& gpu = node.gpu(to);
  const mig::Model& model = node.model(gpu.model);
  for (const core::JobSlot slot : node.cooling()) {
    const core::Job& job = node.job(slot);
    if (job.cooldown_until >= restrained.retry) continue;
    const core::GpuId from = job.main.gpu;
    if (!core::cooling(node, job) || node.gpu(from).health != core::Health::kOk) continue;
    if (from == to || node.gpu(from).model != gpu.model || !busy_after_moves(node, from)) continue;
    const mig::ProfileIndex p = *node.profile_on(gpu.model, job.profile);
    if (!balances(model.compute_used(gpu.projected), model.compute_used(node.gpu(from).projected),
                  model.profile(p).compute_slices)) {
      continue;
    }
    core::Restrained skipped;
    const auto target = core::best_target(node, job, to, gpu.projected, skipped);
    if (target || skipped.any) restrained.until(job.cooldown_until);
  }
}

}  // namespace

core::Answer inter_next_move(const core::Node& node, core::GpuId to) {
  const core::Gpu& gpu = node.gpu(to);
  if (!gpu.takes_jobs() || busy_after_moves(node, to)) return {};
  const mig::Model& model = node.model(gpu.model);
  const core::Ranks& ranks = node.index().ranks(gpu.model);
  InterMoveSearch search{.node = node, .to = to, .gpu = gpu};
  const int used = model.compute_used(gpu.projected);
  for (std::size_t i = 0; i < model.profiles().size(); ++i) {
    const mig::ProfileIndex p(static_cast<std::uint8_t>(i));
    if ((gpu.allowed >> i & 1U) == 0 || model.feasible(gpu.occupied, p) == 0) continue;
    const int slices = model.compute_of(p);
    const int least = used + 2 * slices + 1;  // of a source that stays above: see balances()
    if (least > model.compute_slices()) continue;
    const bool barred = barred_by_head(node, to, p);
    for (int source = least; source <= model.compute_slices(); ++source) {
      if (!ranks.busy_at(source)) continue;
      if (barred) {
        search.note_barred(p, source);
      } else {
        search.look_at_group(p, source);
      }
    }
  }
  if (search.best) return {search.best, false, Instant::max()};
  note_cooling(node, to, search.restrained);
  return search.restrained.answer();
}

}  // namespace tangram::policies
