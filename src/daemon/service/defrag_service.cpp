// See defrag_service.hpp.
#include "daemon/service/defrag_service.hpp"

#include <memory>
#include <utility>

#include "daemon/access/problems.hpp"
#include "daemon/views/history_reader.hpp"
#include "daemon/views/read_reply.hpp"
#include "policies/defrag.hpp"

namespace tangram::daemon {
namespace {

// The mean over all GPUs, from their sum in cost units.
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

void DefragService::register_handlers(http::ApiHandlers& handlers) {
  handlers.defrag = [this](const http::Caller& caller, std::size_t most,
                           const http::Reply<api::DefragPlan>& reply) {
    defrag(caller, most, reply);
  };
}

void DefragService::defrag(const http::Caller& caller, std::size_t most,
                           const http::Reply<api::DefragPlan>& reply) {
  if (const auto admitted = access_.admit(caller); !admitted) {
    reply(std::unexpected(admitted.error()));
    return;
  }
  const auto node = std::make_shared<const core::Node>(engine_.scheduler().node());
  const auto plan = [node, most](store::Store& /*not needed*/) -> Result<api::DefragPlan> {
    return plan_for(*node, most);
  };
  const auto on_result = [this, send = reply_with(reply)](Result<api::DefragPlan> made) {
    if (made) add_owners(*made);
    send(std::move(made));
  };
  if (!reader_.query<api::DefragPlan>(caller.uid, plan, on_result))
    reply(std::unexpected(too_busy()));
}

// Steps of jobs that have ended meanwhile stay without name and user.
void DefragService::add_owners(api::DefragPlan& plan) const {
  for (api::DefragStepView& step : plan.steps) {
    const store::JobRow* row = engine_.records().job(step.job);
    if (row == nullptr) continue;
    step.name = row->name;
    step.user = row->user;
  }
}

}  // namespace tangram::daemon
