// See explain_placement.hpp.
#include "core/explain_placement.hpp"

#include <algorithm>
#include <ranges>
#include <utility>
#include <variant>
#include <vector>

#include "base/text.hpp"
#include "core/reservation.hpp"

namespace tangram::core {
namespace {

std::vector<JobId> placed_in(const Actions& actions) {
  std::vector<JobId> placed;
  for (const Action& action : actions) {
    const auto* report = std::get_if<JobReport>(&action);
    if (report != nullptr && report->news == JobNews::kPlaced) placed.push_back(report->job);
  }
  return placed;
}

bool arrives(const Event& event, JobId job) {
  const auto* submitted = std::get_if<JobSubmitted>(&event);
  return submitted != nullptr && submitted->spec.id == job;
}

// Keeps the slices free that the step frees. A waiting job is held; one that the step itself sends
// back to the queue (its process ended, its GPU was lost) is cancelled, which frees the same
// slices. The cause of the hold is one that the step does not end.
void keep_out(Scheduler& scheduler, JobId job, HoldCause cause) {
  const Node& node = scheduler.node();
  const Instant at = node.now();  // not later: nothing else may change until then
  const JobSlot slot = node.find_job(job);
  if (slot == kNoJob) return;
  const JobPhase phase = node.job(slot).phase;
  Actions ignored;
  if (phase == JobPhase::kQueued || phase == JobPhase::kHeld) {
    scheduler.step(at, JobHeld{job, cause}, ignored);
  } else {
    scheduler.step(at, JobCancelled{job}, ignored);
  }
}

// Holds all jobs that could take the slot instead: the waiting ones, from the end of the queue on
// (jobs unblocked by another's hold are held already), and those whose hold the step may end.
std::vector<JobId> others(const Scheduler& scheduler) {
  const std::vector<JobId> waiting = scheduler.waiting();
  const Node& node = scheduler.node();
  std::vector<JobId> jobs;
  // Where a job had a reservation, others that are still in the queue could start.
  for (const bool reserved : {false, true}) {
    for (const JobId id : std::views::reverse(waiting)) {
      if (node.job(node.find_job(id)).reservation.has_value() == reserved) jobs.push_back(id);
    }
  }
  for (const JobSlot slot : node.jobs_by_id()) {
    if (node.job(slot).phase == JobPhase::kHeld) jobs.push_back(node.job(slot).id);
  }
  return jobs;
}

// A move could take what the step frees; the queue is tried first.
TuningChanged without_moves(Tuning tuning, const Policies& policies) {
  tuning.restraint.most_moves = 0;
  return {std::move(tuning), policies};
}

Event held_back(Event event, JobId job) {
  if (arrives(event, job)) std::get<JobSubmitted>(event).spec.held = true;
  if (const auto* changed = std::get_if<TuningChanged>(&event)) {
    return without_moves(changed->tuning, changed->policies);
  }
  return event;
}

// Jobs that were kept out have lost their reservations, which bound the decision.
Node with_reservations(Node rebuilt, const Node& after) {
  for (const Reserved& r : after.reserved()) {
    rebuilt.drop_reserved(r.job);
    rebuilt.add_reserved(after.job(after.find_job(r.job)));
  }
  return rebuilt;
}

}  // namespace

Result<ArrivalExplanation> explain_placement(const Scheduler& before, Instant at,
                                             const Event& event, JobId job) {
  Scheduler after = before;
  Actions actions;
  after.step(at, event, actions);
  const std::vector<JobId> placed = placed_in(actions);
  const auto mine = std::ranges::find(placed, job);
  if (mine == placed.end()) {
    return not_found(cat("job ", job.value(), " was not placed in that step."));
  }
  Scheduler then = before;
  Actions ignored;
  then.step(then.node().now(), without_moves(then.node().tuning(), then.policies()), ignored);
  const auto* released = std::get_if<JobReleased>(&event);
  const bool ends_limit = released != nullptr && released->cause == kHoldLimit;
  const HoldCause cause = ends_limit ? kHoldUser : kHoldLimit;
  for (const JobId other : others(before)) {
    if (std::find(placed.begin(), mine, other) == mine) keep_out(then, other, cause);
  }
  keep_out(then, job, cause);
  then.step(at, held_back(event, job), ignored);
  const Node& node = after.node();
  const Job& record = node.job(node.find_job(job));
  Request request = node.request_of(record);
  if (after.policies().queue->passing != Passing::kNone) {
    request.models = after.place_in_queue(record).models;
    request.models.insert(node.gpu(record.main.gpu).model);
  }
  request.job = job;
  request.ends = end_of(record, at + kStartMargin).value_or(Instant::max());
  const Node rebuilt = with_reservations(then.node(), node);
  ArrivalExplanation explained = explain_arrival(rebuilt, *then.policies().placement, request);
  const Entry* got = node.find(record.main.gpu, record.main.instance);
  const auto winner = explained.winner();
  const bool agrees = got != nullptr && winner && winner->gpu == record.main.gpu &&
                      winner->start == got->placement.start;
  if (agrees) return explained;
  return failed(cat("cannot rebuild the decision: the step in which job ", job.value(),
                    " was placed made other changes too."));
}

}  // namespace tangram::core
