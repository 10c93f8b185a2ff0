// See explain_job.hpp.
#include "core/explain_job.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace tangram::core {

Request queue_request(const Scheduler& scheduler, const Job& job) {
  Request request = scheduler.node().request_of(job);
  const auto place = scheduler.place_in_queue(job);
  if (scheduler.policies().queue->passing == Passing::kNone || place.models.empty()) return request;
  request.models = place.models;
  request.queued = place.queued;
  return request;
}

Result<JobExplanation> explain_job(const Scheduler& scheduler, JobId id) {
  const Node& node = scheduler.node();
  const JobSlot s = node.find_job(id);
  if (s == kNoJob) return not_found(cat("job ", id.value(), ": not found."));
  const Job& job = node.job(s);
  JobExplanation result{
      .phase = job.phase, .holds = job.holds, .ahead = {}, .retry_at = {}, .waiting = {}};
  for (const BackOff& b : job.back_offs) {
    if (b.until <= node.now()) continue;
    result.retry_at = std::min(result.retry_at.value_or(b.until), b.until);
  }
  if (job.phase == JobPhase::kQueued || job.phase == JobPhase::kHeld) {
    result.ahead = scheduler.place_in_queue(job).ahead;
    const Request request = queue_request(scheduler, job);
    result.expected = expected_start(scheduler, id);
    result.reservation = job.reservation;
    result.lost_reservation = job.lost_reservation;
    result.passed = job.passed;
    result.waiting = explain_waiting(node, *scheduler.policies().placement, request);
  }
  return result;
}

}  // namespace tangram::core
