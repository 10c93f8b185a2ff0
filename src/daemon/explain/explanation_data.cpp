// See explanation_data.hpp.
#include "daemon/explain/explanation_data.hpp"

#include <algorithm>

#include "core/transcript.hpp"

namespace tangram::daemon {
namespace {

std::vector<api::CandidateView> candidates_of(const core::ArrivalExplanation& from) {
  std::vector<api::CandidateView> views;
  for (const core::ExplainedCandidate& each : from.candidates) {
    views.push_back({.gpu = each.slot.gpu.value(),
                     .start = each.slot.start,
                     .busy = each.busy,
                     .frag_before = each.before.approximate(),
                     .frag_after = each.after.approximate()});
  }
  return views;
}

std::vector<api::ObstacleView> obstacles_of(const std::vector<core::GpuWithout>& from) {
  std::vector<api::ObstacleView> views;
  for (const core::GpuWithout& each : from) {
    api::ObstacleView view{.gpu = each.gpu.value(), .why = std::string(core::name_of(each.why))};
    for (const core::Standing& standing : each.standing) {
      view.standing.push_back({.profile = standing.profile,
                               .start = standing.start,
                               .state = std::string(core::name_of(standing.state))});
    }
    views.push_back(std::move(view));
  }
  return views;
}

// The rule of job_service_moves.cpp and core/requested_move.cpp: most_moves restrains admins too,
// the other restraints only owners; other users may not request moves at all.
bool may_ask(const CallerRights& rights, std::uint64_t job,
             const std::vector<core::Restraining>& by) {
  const auto restrains = [&](const core::Restraining& each) {
    return !rights.is_admin || each.by == core::RestraintKind::kMaxMoves;
  };
  return rights.may_control(job) && std::ranges::none_of(by, restrains);
}

api::ProposedMoveView view_of(const core::Move& move,
                              const std::vector<core::Restraining>& restrained,
                              const core::Node& node, const CallerRights& rights) {
  const core::Replica& main = node.job(move.slot).main;
  const core::Entry* entry = node.find(main.gpu, main.instance);
  api::ProposedMoveView view{.job = move.job.value(),
                             .from_gpu = move.from.value(),
                             .from_start = entry == nullptr ? 0U : entry->placement.start,
                             .to_gpu = move.to.gpu.value(),
                             .to_start = move.to.start};
  view.user = rights.user_of(view.job);
  view.may = may_ask(rights, view.job, restrained);
  for (const core::Restraining& each : restrained) {
    api::RestraintView by{.by = std::string(core::name_of(each.by))};
    if (each.until) by.until = rights.wall_of(*each.until);
    view.restrained_by.push_back(std::move(by));
  }
  return view;
}

api::UnblockingMoves view_of(const core::UnblockingMoves& option, const core::Node& node,
                             const CallerRights& rights) {
  api::UnblockingMoves view{
      .moves = {}, .gpu = option.slot.gpu.value(), .start = option.slot.start};
  for (std::size_t i = 0; i < option.moves.size(); ++i) {
    view.moves.push_back(view_of(option.moves[i], option.restrained[i], node, rights));
  }
  return view;
}

void add_departure(core::JobId job, const core::Node& node, api::ExplanationBase& to) {
  to.departures.push_back(job.value());
  add_lease(job.value(), node, to);
  const core::Job& record = node.job(node.find_job(job));
  const bool never_moves = record.kind == core::JobKind::kLease || !record.allowed_to_move;
  if (never_moves) to.pinned.push_back(job.value());
}

}  // namespace

void add_arrival(const core::ArrivalExplanation& from, const core::PlacementPolicy& policy,
                 api::ExplanationBase& to) {
  to.candidates = candidates_of(from);
  to.decided_by = from.decided_by ? std::string(policy.criteria[*from.decided_by]) : "";
  to.obstacles = obstacles_of(from.without);
}

void add_waiting(const core::WaitingExplanation& from, const core::Node& node,
                 const CallerRights& rights, api::ExplanationBase& to) {
  to.obstacles = obstacles_of(from.without);
  for (const core::UnblockingMoves& option : from.moves_that_make_room) {
    to.unblocking_moves.push_back(view_of(option, node, rights));
  }
  for (const core::JobId job : from.departures_that_make_room) add_departure(job, node, to);
  for (const core::JobId job : from.could_move) to.could_move.push_back(job.value());
  if (from.to_come) {
    const core::Slot& slot = from.to_come->slot;
    to.to_come = {.jobs = {}, .gpu = slot.gpu.value(), .start = slot.start};
    for (const core::JobId job : from.to_come->jobs) {
      to.to_come->jobs.push_back(job.value());
      add_lease(job.value(), node, to);
    }
  }
  for (const core::ProfileName name : from.fits_now) to.fits_now.push_back(node.name(name));
}

void add_lease(std::uint64_t job, const core::Node& node, api::ExplanationBase& to) {
  const core::JobSlot slot = node.find_job(core::JobId(job));
  if (slot == core::kNoJob || node.job(slot).kind != core::JobKind::kLease) return;
  if (std::ranges::find(to.leases, job) == to.leases.end()) to.leases.push_back(job);
}

}  // namespace tangram::daemon
