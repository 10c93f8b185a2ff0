// See planner.hpp.
#include "daemon/planner.hpp"

#include <memory>
#include <utility>

#include "daemon/problems.hpp"
#include "daemon/reader.hpp"
#include "daemon/replying.hpp"
#include "policies/defrag.hpp"

namespace tangram::daemon {
namespace {

// From a sum over all GPUs to the mean that people see.
double mean(const core::Node& node, std::int64_t cost) {
  const auto whole = static_cast<double>(node.cost_denominator()) * node.gpu_count();
  return whole > 0 ? static_cast<double>(cost) / whole : 0;
}

api::DefragStepView view_of(const core::Node& node, const policies::DefragStep& step) {
  const core::Move& move = step.move;
  api::DefragStepView view;
  view.job = move.job.value();
  view.profile = node.name(node.job(move.slot).profile);
  view.from = {move.from.value(), step.from_start};
  view.to = {move.to.gpu.value(), move.to.start};
  view.reuse = move.to.reuse;
  view.kind = move.from == move.to.gpu ? "intra" : "inter";
  view.gain = mean(node, step.before - step.after);
  return view;
}

api::DefragPlan plan_for(const core::Node& node, std::size_t most) {
  const auto steps = policies::plan_defrag(node, most);
  api::DefragPlan plan;
  plan.frag_cost_before = mean(node, policies::total_cost(node));
  plan.frag_cost_after = steps.empty() ? plan.frag_cost_before : mean(node, steps.back().after);
  for (const policies::DefragStep& step : steps) plan.steps.push_back(view_of(node, step));
  return plan;
}

}  // namespace

void Planner::fill(http::Doors& doors) {
  doors.defrag = [this](const http::Caller& caller, std::size_t most,
                        const http::Reply<api::DefragPlan>& reply) { defrag(caller, most, reply); };
}

void Planner::defrag(const http::Caller& caller, std::size_t most,
                     const http::Reply<api::DefragPlan>& reply) {
  if (const auto admitted = access_.admit(caller); !admitted) {
    reply(std::unexpected(admitted.error()));
    return;
  }
  const auto node = std::make_shared<const core::Node>(engine_.scheduler().node());
  const auto look = [node, most](store::Store& /*not needed*/) -> Result<api::DefragPlan> {
    return plan_for(*node, most);
  };
  const auto then = [this, told = replying(reply)](Result<api::DefragPlan> plan) {
    if (plan) add_people(*plan);
    told(std::move(plan));
  };
  if (!reader_.ask<api::DefragPlan>(caller.uid, look, then)) reply(std::unexpected(too_busy()));
}

// Of jobs that are over by now there is nothing to say.
void Planner::add_people(api::DefragPlan& plan) const {
  for (api::DefragStepView& step : plan.steps) {
    const store::JobRow* row = engine_.records().job(step.job);
    if (row == nullptr) continue;
    step.name = row->name;
    step.user = row->user;
  }
}

}  // namespace tangram::daemon
