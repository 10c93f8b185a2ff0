// See explainer.hpp.
#include "daemon/explainer.hpp"

#include <utility>

#include "base/text.hpp"
#include "core/explain_job.hpp"
#include "core/explain_placement.hpp"
#include "daemon/choose_profile.hpp"
#include "daemon/explanation_text.hpp"
#include "daemon/limits.hpp"
#include "daemon/problems.hpp"
#include "daemon/reader.hpp"
#include "daemon/replying.hpp"
#include "store/replay.hpp"

namespace tangram::daemon {
namespace {

// The decision of that step, made again; with what it was decided by.
Result<void> decide_again(store::Store& store, std::uint64_t job, api::Explanation& to) {
  const auto step = store.placement_step(job);
  if (!step) return std::unexpected(step.error());
  if (!*step) return not_found("the journal does not go back to its placement");
  const auto before = store::replay_to(store, (*step)->sequence);
  if (!before) return std::unexpected(before.error());
  const auto steps = store.steps((*step)->sequence, 1);
  if (!steps) return std::unexpected(steps.error());
  if (steps->empty()) return not_found("the journal does not go back to its placement");
  const store::Step& decision = steps->front();
  const auto explained =
      core::explain_placement(*before, decision.at, decision.event, core::JobId(job));
  if (!explained) return std::unexpected(explained.error());
  add_arrival(*explained, *before->policies().placement, to);
  to.step = decision.sequence;
  to.decided = decision.wall;
  return {};
}

std::string place_of(const store::JobRow& row) {
  if (row.over) return cat("is over: ", row.state);
  if (row.gpu && row.start) {
    return cat("is ", row.state, " on GPU ", *row.gpu, " at start ", *row.start);
  }
  return cat("is ", row.state);
}

}  // namespace

void Explainer::fill(http::Doors& doors) {
  doors.explain = [this](const http::Caller& caller, std::uint64_t id,
                         const http::Reply<api::Explanation>& reply) {
    explain(caller, id, reply);
  };
  doors.what_if = [this](const http::Caller& caller, const api::WhatIfQuestion& question) {
    return what_if(caller, question);
  };
}

void Explainer::explain(const http::Caller& caller, std::uint64_t id,
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
    reply(std::unexpected(
        missing(cat("there is no job ", id, "; `tangram ps --all` lists those there are."))));
    return;
  }
  const auto state = api::find_state(row->state);
  if (state == api::JobState::kQueued || state == api::JobState::kHeld) {
    reply(why_waiting(*row));
  } else {
    why_here(caller, *row, reply);
  }
}

api::Explanation Explainer::why_waiting(const store::JobRow& row) const {
  const core::Scheduler& scheduler = engine_.scheduler();
  api::Explanation explanation;
  explanation.job = row.id;
  explanation.profile = row.profile;
  explanation.state = api::find_state(row.state).value_or(api::JobState::kQueued);
  const auto how = core::explain_job(scheduler, core::JobId(row.id));
  if (!how) {  // over in this very moment
    explanation.text.push_back(how.error().message);
    return explanation;
  }
  for (const core::JobId job : how->ahead) explanation.ahead.push_back(job.value());
  if (how->retry_at) {
    const auto left = *how->retry_at - engine_.clock().now();
    explanation.retry = Clock::wall() + std::chrono::duration_cast<std::chrono::microseconds>(left);
  }
  if (how->waiting) {
    const core::Node& node = scheduler.node();
    const core::Job& job = node.job(node.find_job(core::JobId(row.id)));
    const core::PlacementPolicy& policy = *scheduler.policies().placement;
    add_arrival(
        core::explain_arrival(node, policy, {.profile = job.profile, .avoid = job.back_offs}),
        policy, explanation);
    add_waiting(*how->waiting, node, explanation);
  }
  say_waiting(*how, explanation);
  return explanation;
}

void Explainer::why_here(const http::Caller& caller, const store::JobRow& row,
                         const http::Reply<api::Explanation>& reply) {
  const bool may_read = access_.may_read(caller, row.uid);
  api::Explanation explanation;
  explanation.job = row.id;
  explanation.profile = row.profile;
  explanation.state = api::find_state(row.state).value_or(api::JobState::kRunning);
  const auto look = [explanation, place = place_of(row), reason = may_read ? row.reason : ""](
                        store::Store& store) mutable -> Result<api::Explanation> {
    const auto decided = decide_again(store, explanation.job, explanation);
    say_placed(place, explanation);
    if (!reason.empty()) explanation.text.push_back(cat("It is said of it: ", reason, "."));
    if (!decided) {
      explanation.text.push_back(
          cat("Why it was placed there cannot be told any more: ", decided.error().message, "."));
    }
    return explanation;
  };
  if (!reader_.ask<api::Explanation>(caller.uid, look, replying(reply))) {
    reply(std::unexpected(too_busy()));
  }
}

http::Answer<api::WhatIf> Explainer::what_if(const http::Caller& caller,
                                             const api::WhatIfQuestion& question) {
  if (const auto admitted = access_.admit(caller); !admitted) {
    return std::unexpected(admitted.error());
  }
  const core::Scheduler& scheduler = engine_.scheduler();
  const core::Node& node = scheduler.node();
  const auto profile = choose_profile(node, question.profile, question.gpu_memory_mib);
  if (!profile) return std::unexpected(profile.error());
  const core::PlacementPolicy& policy = *scheduler.policies().placement;
  const core::Request request{.profile = *node.find_name(*profile)};
  api::WhatIf what_if;
  what_if.profile = *profile;
  what_if.ahead = static_cast<std::uint32_t>(scheduler.waiting_count());
  add_arrival(core::explain_arrival(node, policy, request), policy, what_if);
  const std::string beyond = limits_.why_not(caller, *profile);
  what_if.starts_now = what_if.ahead == 0 && !what_if.candidates.empty() && beyond.empty();
  if (what_if.candidates.empty()) {
    add_waiting(core::explain_waiting(node, policy, request), node, what_if);
  }
  say_what_if(what_if, beyond);
  return what_if;
}

}  // namespace tangram::daemon
