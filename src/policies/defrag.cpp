// See defrag.hpp. A greedy descent: of all single moves the one with the largest gain. Ties: on the
// same GPU, reuse of an idle instance, the lowest job id, the lowest GPU, the highest start.
#include "policies/defrag.hpp"

#include <optional>
#include <tuple>

#include "core/candidates.hpp"
#include "core/restraint.hpp"
#include "core/snapshot.hpp"
#include "policies/migration.hpp"

namespace tangram::policies {
namespace {

struct DefragSearch {
  const core::Node& node;
  std::optional<core::Move> best{};
  std::uint8_t from_start = 0;
  std::int64_t gain = 0;
  std::tuple<std::int64_t, bool, bool, core::JobId, core::GpuId, int> best_key{};

  void look_at(core::GpuId from, const core::Entry& e) {
    if (e.state != core::EntryState::kHeld || e.leaving || e.job == core::kNoJob) return;
    const core::Job& job = node.job(e.job);
    if (!core::could_move(job)) return;
    for (std::uint32_t g = 0; g < node.gpu_count(); ++g) {
      const core::GpuId to(g);
      if (node.gpu(to).incoming || node.gpu(to).model != node.gpu(from).model) continue;
      const core::Request request = node.request_of(job);
      core::for_each_candidate(node, request, to, false,
                               [&](const core::Slot& slot) { consider(from, e, job, slot); });
    }
  }

  void consider(core::GpuId from, const core::Entry& e, const core::Job& job,
                const core::Slot& slot) {
    const core::Gpu& source = node.gpu(from);
    const core::Gpu& target = node.gpu(slot.gpu);
    const mig::Model& model = node.model(source.model);
    const bool intra = from == slot.gpu;
    const mig::Occupancy left = model.without(source.projected, e.placement);
    const mig::Occupancy base = intra ? left : target.projected;
    const mig::Occupancy after = model.with(base, {e.placement.profile, slot.start});
    if (core::takes_place_of_head(node, target.model, target.projected, after)) return;
    const auto cost = [&](mig::Occupancy o) { return node.cost(source.model, o); };
    const std::int64_t before = cost(source.projected) + (intra ? 0 : cost(target.projected));
    const std::int64_t then = cost(after) + (intra ? 0 : cost(left));
    if (then >= before || !enough_gain(node, before, then)) return;
    const std::tuple key(then - before, !intra, !slot.reuse, job.id, slot.gpu, -int{slot.start});
    if (best && !(key < best_key)) return;
    best = core::Move{job.id, from, slot, core::MoveKind::kRequested, e.job};
    best_key = key;
    gain = before - then;
    from_start = e.placement.start;
  }
};

}  // namespace

std::int64_t total_cost(const core::Node& node) {
  std::int64_t total = 0;
  for (std::uint32_t g = 0; g < node.gpu_count(); ++g) {
    const core::Gpu& gpu = node.gpu(core::GpuId(g));
    total += node.cost(gpu.model, gpu.projected);
  }
  return total;
}

std::vector<DefragStep> plan_defrag(const core::Node& node, std::size_t most) {
  std::vector<DefragStep> plan;
  core::Node state = node;
  std::int64_t total = total_cost(node);
  while (plan.size() < most) {
    DefragSearch search{.node = state};
    for (std::uint32_t g = 0; g < state.gpu_count(); ++g) {
      if (state.gpu(core::GpuId(g)).health != core::Health::kOk) continue;
      for (const core::Entry& e : state.entries(core::GpuId(g))) {
        search.look_at(core::GpuId(g), e);
      }
    }
    if (!search.best) break;
    plan.push_back({.move = *search.best,
                    .from_start = search.from_start,
                    .before = total,
                    .after = total - search.gain});
    total -= search.gain;
    core::apply_at_once(state, *search.best);
  }
  return plan;
}

}  // namespace tangram::policies
