// See explain_move.hpp.
#include "policies/explain_move.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <variant>

#include "base/text.hpp"
#include "core/restraint.hpp"
#include "policies/migration.hpp"

namespace tangram::policies {
namespace {

using core::GpuId;

// The moves of the jobs of one GPU into `to` that satisfy the condition of their kind.
void add_moves_from(const core::Node& node, GpuId from, GpuId to, MoveExplanation& result) {
  const core::Gpu& source = node.gpu(from);
  const core::Gpu& target = node.gpu(to);
  const mig::Model& model = node.model(from);
  for (const core::Entry& e : node.entries(from)) {
    if (!e.movable) continue;
    const int slices = model.profile(e.placement.profile).compute_slices;
    if (from != to && !balances(model.compute_used(target.projected),
                                model.compute_used(source.projected), slices)) {
      continue;
    }
    const mig::Occupancy left = model.without(source.projected, e.placement);
    const mig::Occupancy base = from == to ? left : target.projected;
    core::Restrained ignored;
    const auto place = core::best_target(node, node.job(e.job), to, base, ignored);
    if (!place) continue;
    const mig::Occupancy after = model.with(base, {e.placement.profile, place->slot.start});
    const auto kind = from == to ? core::MoveKind::kIntra : core::MoveKind::kInter;
    if (from == to) {
      const std::int64_t present = node.cost(source.model, source.projected);
      if (place->cost >= present || !enough_gain(node, present, place->cost)) continue;
    }
    result.candidates.push_back({{node.job(e.job).id, from, place->slot, kind, e.job},
                                 model.frag_cost(source.projected),
                                 model.frag_cost(from == to ? after : left),
                                 model.frag_cost(after)});
  }
}

bool better(const ExplainedMove& a, const ExplainedMove& b) {
  const auto key = [](const ExplainedMove& m) {
    const bool intra = m.move.kind == core::MoveKind::kIntra;
    return std::tuple(m.after, intra && !m.move.to.reuse, m.move.from, m.move.job,
                      -int{m.move.to.start});
  };
  return key(a) < key(b);
}

// The move of the job that these actions begin.
const core::MoveReport* begun_in(const core::Actions& actions, core::JobId job) {
  for (const core::Action& action : actions) {
    const auto* report = std::get_if<core::MoveReport>(&action);
    if (report != nullptr && report->job == job && report->news == core::MoveNews::kBegun) {
      return report;
    }
  }
  return nullptr;
}

// The most at a time keeps moves from beginning and is not weighed.
core::TuningChanged without_moves(core::Tuning tuning, const core::Policies& policies) {
  tuning.restraint.most_moves = 0;
  return {std::move(tuning), policies};
}

// The state in which the first move of the step was chosen.
core::Scheduler when_planned(const core::Scheduler& before, Instant at, const core::Event& event) {
  core::Scheduler then = before;
  core::Actions ignored;
  then.step(then.node().now(), without_moves(then.node().tuning(), then.policies()), ignored);
  const auto* changed = std::get_if<core::TuningChanged>(&event);
  then.step(at, changed != nullptr ? without_moves(changed->tuning, changed->policies) : event,
            ignored);
  return then;
}

}  // namespace

Result<MoveExplanation> explain_move_made(const core::Scheduler& before, Instant at,
                                          const core::Event& event, core::JobId job) {
  core::Scheduler after = before;
  core::Actions actions;
  after.step(at, event, actions);
  const core::MoveReport* made = begun_in(actions, job);
  if (made == nullptr) {
    return not_found(cat("no move of job ", job.value(), " began in that step."));
  }
  const bool by_method =
      made->kind == core::MoveKind::kIntra || made->kind == core::MoveKind::kInter;
  MoveExplanation explained;
  if (by_method) explained = explain_move(when_planned(before, at, event).node(), made->to);
  if (!explained.candidates.empty()) {
    const core::Move& best = explained.candidates.front().move;
    if (best.job == job && best.to.gpu == made->to && best.to.start == made->start) {
      return explained;
    }
  }
  return failed(cat("cannot rebuild the decision: the step in which the move of job ", job.value(),
                    " began made other changes too."));
}

MoveExplanation explain_move(const core::Node& node, core::GpuId to) {
  const core::Gpu& gpu = node.gpu(to);
  MoveExplanation result;
  result.busy = busy_after_moves(node, to);
  result.present = node.model(to).frag_cost(gpu.projected);
  if (!gpu.takes_jobs()) return result;
  if (result.busy) {
    add_moves_from(node, to, to, result);
  } else {
    for (std::uint32_t i = 0; i < node.gpu_count(); ++i) {
      const GpuId from(i);
      const core::Gpu& source = node.gpu(from);
      const bool same_kind = source.model == gpu.model && source.health == core::Health::kOk;
      if (from != to && same_kind && busy_after_moves(node, from)) {
        add_moves_from(node, from, to, result);
      }
    }
  }
  std::ranges::sort(result.candidates, better);
  return result;
}

}  // namespace tangram::policies
