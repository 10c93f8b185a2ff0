// See explain_service.hpp.
#include "daemon/explain/explain_service.hpp"

#include <utility>

#include <boost/json/parse.hpp>

#include "base/text.hpp"
#include "core/explain_job.hpp"
#include "daemon/access/limits.hpp"
#include "daemon/access/problems.hpp"
#include "daemon/explain/explanation_data.hpp"
#include "daemon/explain/explanation_replay.hpp"
#include "daemon/explain/explanation_text.hpp"
#include "daemon/views/choose_profile.hpp"
#include "daemon/views/history_reader.hpp"
#include "daemon/views/read_reply.hpp"
#include "daemon/views/views.hpp"

namespace tangram::daemon {
namespace {

bool was_placed(const store::JobRow& row) {
  return row.placed.has_value() || row.gpu.has_value() || row.started.has_value();
}

std::string state_text(const store::JobRow& row) {
  if (row.over) return cat("has ended: ", row.state);
  if (row.gpu && row.start) {
    return cat("is ", row.state, " on GPU ", *row.gpu, " at start ", *row.start);
  }
  return cat("is ", row.state);
}

// Adds the time limit of an active job, which only its stored request has.
void add_time_limit(store::Store& store, api::ExplanationBase& to, std::uint64_t job) {
  const auto row = store.job(job);
  if (!row || !*row || (*row)->over) return;
  boost::system::error_code bad;
  const auto request = api::read_job_request(boost::json::parse((*row)->request, bad));
  if (bad || !request || !request->time_limit) return;
  to.text.push_back(cat("It is stopped at its time limit, ",
                        api::duration_text(*request->time_limit),
                        " after the start of its first run."));
}

}  // namespace

void ExplainService::register_handlers(http::ApiHandlers& handlers) {
  handlers.explain = [this](const http::Caller& caller, std::uint64_t id,
                            const http::Reply<api::Explanation>& reply) {
    explain(caller, id, reply);
  };
  handlers.what_if = [this](const http::Caller& caller, const api::WhatIfQuestion& question) {
    return what_if(caller, question);
  };
}

void ExplainService::explain(const http::Caller& caller, std::uint64_t id,
                             const http::Reply<api::Explanation>& reply) {
  if (const auto admitted = access_.admit(caller); !admitted) {
    reply(std::unexpected(admitted.error()));
    return;
  }
  const store::JobRow* recent = engine_.records().job(id);
  std::optional<store::JobRow> row;
  if (recent != nullptr) row = *recent;
  if (!row) {
    auto stored = engine_.store().job(id);
    if (!stored) {
      reply(std::unexpected(unavailable(stored.error().message)));
      return;
    }
    row = *std::move(stored);
  }
  if (!row) {
    reply(std::unexpected(missing(cat("job ", id, ": not found; see `tangram ps --all`."))));
    return;
  }
  const auto state = api::find_state(row->state);
  if (state == api::JobState::kQueued || state == api::JobState::kHeld) {
    reply(why_waiting(caller, *row));
  } else {
    why_here(caller, *row, reply);
  }
}

api::WallTime ExplainService::wall_of(Instant when) const {
  const auto left = when - engine_.clock().now();
  return Clock::wall() + std::chrono::duration_cast<std::chrono::microseconds>(left);
}

CallerRights ExplainService::rights_of(const http::Caller& caller) const {
  const auto row_of = [this](std::uint64_t job) { return engine_.records().job(job); };
  return {.is_admin = access_.is_admin(caller),
          .may_control =
              [this, caller, row_of](std::uint64_t job) {
                const store::JobRow* row = row_of(job);
                return row != nullptr && access_.may_control(caller, row->uid);
              },
          .user_of = [row_of](std::uint64_t job) -> std::string {
            const store::JobRow* row = row_of(job);
            return row == nullptr ? "" : row->user;
          },
          .wall_of = [this](Instant when) { return wall_of(when); }};
}

api::Explanation ExplainService::why_waiting(const http::Caller& caller,
                                             const store::JobRow& row) const {
  const core::Scheduler& scheduler = engine_.scheduler();
  const core::Node& node = scheduler.node();
  api::Explanation explanation;
  explanation.job = row.id;
  explanation.profile = row.profile;
  explanation.state = api::find_state(row.state).value_or(api::JobState::kQueued);
  const auto job_state = core::explain_job(scheduler, core::JobId(row.id));
  if (!job_state) {  // it has just ended
    explanation.text.push_back(job_state.error().message);
    return explanation;
  }
  add_lease(row.id, node, explanation);
  for (const core::JobId job : job_state->ahead) {
    explanation.ahead.push_back(job.value());
    add_lease(job.value(), node, explanation);
  }
  if (job_state->retry_at) explanation.retry = wall_of(*job_state->retry_at);
  const auto hold = limits_.hold_of(row.id);
  if (hold) {
    explanation.limit = {hold->has, hold->most, hold->needs, hold->behind, hold->group};
    explanation.departures = hold->enough;
    for (const std::uint64_t job : hold->enough) add_lease(job, node, explanation);
  } else if ((job_state->holds & core::kHoldDependency) != 0) {
    explanation.waits_for = api::read_stored_dependencies(row.waits_for);
  } else if (job_state->waiting) {
    const core::Job& job = node.job(node.find_job(core::JobId(row.id)));
    const core::PlacementPolicy& policy = *scheduler.policies().placement;
    add_arrival(core::explain_arrival(node, policy, core::queue_request(scheduler, job)), policy,
                explanation);
    add_waiting(*job_state->waiting, node, rights_of(caller), explanation);
  }
  name_mig_off(explanation);
  if (job_state->expected) {
    explanation.expected_start = wall_of(job_state->expected->time);
    if (const auto after = job_state->expected->after) explanation.expected_after = after->value();
  }
  describe_waiting(job_state->holds, explanation, scheduler.policies().queue->passing);
  const bool is_queued = job_state->phase == core::JobPhase::kQueued;
  if (is_queued && scheduler.policies().queue->passing == core::Passing::kBackfill) {
    describe_start(start_facts(*job_state), explanation);
  }
  if (access_.may_read(caller, row.uid)) add_time_limit(engine_.store(), explanation, row.id);
  return explanation;
}

StartFacts ExplainService::start_facts(const core::JobExplanation& of) const {
  StartFacts facts{.passed = of.passed,
                   .max_passes = engine_.scheduler().node().tuning().fairness.max_passes};
  if (of.lost_reservation) facts.lost = wall_of(*of.lost_reservation);
  if (of.reservation) {
    facts.reserved = wall_of(of.reservation->time);
    facts.gpu = of.reservation->gpu.value();
    facts.start = of.reservation->start;
  }
  return facts;
}

void ExplainService::why_here(const http::Caller& caller, const store::JobRow& row,
                              const http::Reply<api::Explanation>& reply) {
  const bool may_read = access_.may_read(caller, row.uid);
  api::Explanation explanation;
  explanation.job = row.id;
  explanation.profile = row.profile;
  explanation.state = api::find_state(row.state).value_or(api::JobState::kRunning);
  if (row.kind == "lease") explanation.leases.push_back(row.id);
  const auto read = [explanation, place = state_text(row), placed = was_placed(row),
                     reason = may_read ? row.reason : "",
                     may_read](store::Store& store) mutable -> Result<api::Explanation> {
    const auto decided =
        placed ? replay_placement(store, explanation.job, explanation) : Result<void>();
    describe_placed(place, explanation);
    if (!placed)
      explanation.text.emplace_back("It was never placed: it ended while it was queued or held.");
    if (!reason.empty()) explanation.text.push_back(cat("Reason: ", reason, "."));
    if (!decided) {
      explanation.text.push_back(
          cat("Its placement cannot be explained any more: ", decided.error().message, "."));
    }
    if (placed) add_moves(store, explanation);
    describe_moves(explanation);
    if (may_read) add_time_limit(store, explanation, explanation.job);
    return explanation;
  };
  if (!reader_.query<api::Explanation>(caller.uid, read, reply_with(reply))) {
    reply(std::unexpected(too_busy()));
  }
}

void ExplainService::name_mig_off(api::ExplanationBase& to) const {
  for (api::ObstacleView& each : to.obstacles) {
    if (views_.is_mig_off(core::GpuId(each.gpu))) each.why = std::string(kMigIsOff);
  }
}

// Whether its submission would be refused or held; the same checks as in JobService::submit().
void ExplainService::add_admission(const http::Caller& caller, api::WhatIf& to) const {
  if (const auto admitted = access_.admit_submission(caller); !admitted) {
    to.refused = admitted.error().detail;
    return;
  }
  const auto admission = limits_.would_admit(caller, caller.uid, to.profile);
  if (!admission) {
    to.refused = admission.error().detail;
    return;
  }
  const core::Node& node = engine_.scheduler().node();
  std::vector<std::string> causes;
  if (!node.servable(*node.find_name(to.profile))) {
    causes.emplace_back("no GPU in service has its profile");
  }
  if (admission->over_limit) {
    const std::string who =
        admission->group.empty() ? "you have " : cat("group ", admission->group, " has ");
    causes.push_back(cat(who, admission->has, " of ", admission->most,
                         " compute slices, and it needs ", admission->needs));
  }
  if (!causes.empty()) to.held = join_words(causes);
}

http::Answer<api::WhatIf> ExplainService::what_if(const http::Caller& caller,
                                                  const api::WhatIfQuestion& question) {
  if (const auto admitted = access_.admit(caller); !admitted) {
    return std::unexpected(admitted.error());
  }
  const core::Scheduler& scheduler = engine_.scheduler();
  const core::Node& node = scheduler.node();
  const auto profile = choose_profile(node, question.profile, question.gpu_memory_mib);
  if (!profile) return std::unexpected(profile.error());
  const core::PlacementPolicy& policy = *scheduler.policies().placement;
  core::Request request{.profile = *node.find_name(*profile)};
  api::WhatIf what_if;
  what_if.profile = *profile;
  add_admission(caller, what_if);
  const auto [ahead, models, queued] = scheduler.place_in_queue(request.profile, caller.uid);
  if (!models.empty()) {
    request.models = models;
    request.queued = queued;
  }
  what_if.ahead = static_cast<std::uint32_t>(ahead.size());
  if (!ahead.empty()) what_if.first = ahead.front().value();
  add_arrival(core::explain_arrival(node, policy, request), policy, what_if);
  const bool queues = what_if.refused.empty() && what_if.held.empty();
  what_if.starts_now = queues && !models.empty() && !what_if.candidates.empty();
  if (queues && what_if.candidates.empty()) {
    add_waiting(core::explain_waiting(node, policy, request), node, rights_of(caller), what_if);
  }
  name_mig_off(what_if);
  describe_what_if(what_if, scheduler.policies().queue->passing);
  return what_if;
}

}  // namespace tangram::daemon
