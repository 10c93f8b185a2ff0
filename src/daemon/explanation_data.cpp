// See explanation_data.hpp.
#include "daemon/explanation_data.hpp"

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

// As reception_moves.cpp and asked_move.cpp have it: an admin is restrained by the most at a time
// only, an owner by everything, and nobody else may.
bool may_ask(const Asker& asker, std::uint64_t job, const std::vector<core::Restraining>& by) {
  const auto restrains = [&](const core::Restraining& each) {
    return !asker.is_admin || each.by == core::RestraintKind::kMostMoves;
  };
  return asker.may_control(job) && std::ranges::none_of(by, restrains);
}

api::MoveView view_of(const core::Move& move, const std::vector<core::Restraining>& restrained,
                      const core::Node& node, const Asker& asker) {
  const core::Replica& main = node.job(move.slot).main;
  const core::Entry* entry = node.find(main.gpu, main.instance);
  api::MoveView view{.job = move.job.value(),
                     .from_gpu = move.from.value(),
                     .from_start = entry == nullptr ? 0U : entry->placement.start,
                     .to_gpu = move.to.gpu.value(),
                     .to_start = move.to.start};
  view.user = asker.user_of(view.job);
  view.may = may_ask(asker, view.job, restrained);
  for (const core::Restraining& each : restrained) {
    api::RestraintView by{.by = std::string(core::name_of(each.by))};
    if (each.until) by.until = asker.wall_of(*each.until);
    view.restrained_by.push_back(std::move(by));
  }
  return view;
}

api::RoomView view_of(const core::Room& room, const core::Node& node, const Asker& asker) {
  api::RoomView view{.moves = {}, .gpu = room.slot.gpu.value(), .start = room.slot.start};
  for (std::size_t i = 0; i < room.moves.size(); ++i) {
    view.moves.push_back(view_of(room.moves[i], room.restrained[i], node, asker));
  }
  return view;
}

void add_departure(core::JobId job, const core::Node& node, api::Why& to) {
  to.departures.push_back(job.value());
  add_lease(job.value(), node, to);
  const core::Job& record = node.job(node.find_job(job));
  const bool never_moves = record.kind == core::JobKind::kLease || !record.allowed_to_move;
  if (never_moves) to.pinned.push_back(job.value());
}

}  // namespace

void add_arrival(const core::ArrivalExplanation& from, const core::PlacementPolicy& policy,
                 api::Why& to) {
  to.candidates = candidates_of(from);
  to.decided_by = from.decided_by ? std::string(policy.criteria[*from.decided_by]) : "";
  to.obstacles = obstacles_of(from.without);
}

void add_waiting(const core::WaitingExplanation& from, const core::Node& node, const Asker& asker,
                 api::Why& to) {
  to.obstacles = obstacles_of(from.without);
  for (const core::Room& room : from.moves_that_make_room) {
    to.rooms.push_back(view_of(room, node, asker));
  }
  for (const core::JobId job : from.departures_that_make_room) add_departure(job, node, to);
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

void add_lease(std::uint64_t job, const core::Node& node, api::Why& to) {
  const core::JobSlot slot = node.find_job(core::JobId(job));
  if (slot == core::kNoJob || node.job(slot).kind != core::JobKind::kLease) return;
  if (std::ranges::find(to.leases, job) == to.leases.end()) to.leases.push_back(job);
}

}  // namespace tangram::daemon
