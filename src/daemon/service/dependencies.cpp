// See dependencies.hpp.
#include "daemon/service/dependencies.hpp"

#include <utility>

#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/access/limits.hpp"
#include "daemon/access/problems.hpp"

namespace tangram::daemon {
namespace {

std::string_view past_text(api::JobState state) {
  if (state == api::JobState::kCancelled) return "was cancelled";
  return state == api::JobState::kRefused ? "was refused" : "failed";
}

}  // namespace

Dependencies::Dependencies(Engine& engine, Limits& limits) : engine_(engine), limits_(limits) {
  std::vector<std::uint64_t> jobs;
  for (const auto& [id, row] : engine_.records().jobs()) {
    if (!row.waits_for.empty()) jobs.push_back(id);
  }
  on_jobs_changed(jobs);
}

Dependencies::End Dependencies::end_of(std::uint64_t job) const {
  const auto end = [](const store::JobRow& row) {
    return End{.state = row.over ? api::find_state(row.state) : std::nullopt};
  };
  if (const store::JobRow* row = engine_.records().job(job)) return end(*row);
  const auto stored = engine_.store().job(job);
  if (stored && !*stored) return end_of_array(job);
  if (!stored) spdlog::error("{}", stored.error().message);
  if (!stored) return {.state = std::nullopt};  // asked again when something changes
  return end(**stored);
}

// It has failed as soon as one of its tasks has.
Dependencies::End Dependencies::end_of_array(std::uint64_t array) const {
  const auto row = engine_.store().array(array);
  const auto states = engine_.store().array_states(array);
  if (!row || !states) spdlog::error("{}", (row ? states.error() : row.error()).message);
  if (!row || !states) return {.state = std::nullopt};
  if (!*row) return {.is_known = false, .state = std::nullopt};
  End end{.state = api::JobState::kCompleted};
  bool is_active = false;
  for (const auto& [name, count] : *states) {
    const auto state = api::find_state(name).value_or(api::JobState::kFailed);
    if (!api::is_terminal(state)) is_active = true;
    if (api::is_terminal(state) && state != api::JobState::kCompleted) end.state = state;
  }
  end.is_active = is_active;
  return end;
}

Dependencies::Standing Dependencies::review(const api::DependencyList& dependencies) const {
  Standing standing;
  for (const api::Dependency& each : dependencies) {
    const auto known = known_ends_.find(each.job);
    const End end = known != known_ends_.end() ? known->second : end_of(each.job);
    known_ends_.insert_or_assign(each.job, end);
    const bool is_any = each.condition == api::EndCondition::kAny;
    const bool may_complete = !end.state || end.state == api::JobState::kCompleted;
    if (end.is_known && (!end.state || (end.is_active && (is_any || may_complete)))) {
      standing.pending.push_back(each);
    } else if (!is_any && end.state != api::JobState::kCompleted && standing.failure.empty()) {
      standing.failure =
          cat("its dependency cannot be satisfied: job ", each.job,
              end.state ? cat(" ", past_text(*end.state)) : " is not known any more");
    }
  }
  return standing;
}

http::Answer<Dependencies::Standing> Dependencies::standing_of(
    const api::DependencyList& after) const {
  for (const api::Dependency& each : after) {
    if (end_of(each.job).is_known) continue;
    return std::unexpected(
        bad_dependency(cat("after: job ", each.job, ": not found; see `tangram ps --all`.")));
  }
  known_ends_.clear();
  const Standing standing = review(after);
  known_ends_.clear();
  return standing;
}

void Dependencies::add(const store::JobRow& row) {
  api::DependencyList all = api::read_stored_dependencies(row.waits_for);
  for (const api::Dependency& each : all) waiting_by_job_[each.job].insert(row.id);
  waiting_.emplace(row.id, std::move(all));
}

void Dependencies::forget(std::uint64_t job) {
  const auto at = waiting_.find(job);
  if (at == waiting_.end()) return;
  for (const api::Dependency& each : at->second) {
    const auto others = waiting_by_job_.find(each.job);
    if (others == waiting_by_job_.end()) continue;
    others->second.erase(job);
    if (others->second.empty()) waiting_by_job_.erase(others);
  }
  waiting_.erase(at);
}

// A job is known here from the moment its submission is durable, so its dependencies may have ended
// before.
void Dependencies::on_jobs_changed(const std::vector<std::uint64_t>& jobs) {
  std::set<std::uint64_t> affected;
  for (const std::uint64_t id : jobs) {
    const store::JobRow* row = engine_.records().job(id);
    const bool has_ended = row == nullptr || row->over;
    if (has_ended) forget(id);
    if (!has_ended && !row->waits_for.empty() && !waiting_.contains(id)) {
      add(*row);
      affected.insert(id);
    }
    if (!has_ended) continue;
    for (const std::uint64_t what : {id, row == nullptr ? id : row->array}) {
      const auto dependents = waiting_by_job_.find(what);
      if (dependents == waiting_by_job_.end()) continue;
      affected.insert(dependents->second.begin(), dependents->second.end());
    }
  }
  known_ends_.clear();
  for (const std::uint64_t id : affected) settle(id);
  known_ends_.clear();
}

void Dependencies::settle(std::uint64_t job) {
  const auto at = waiting_.find(job);
  if (at == waiting_.end()) return;
  const Standing standing = review(at->second);
  if (!standing.failure.empty()) {
    fail(job, standing.failure);
  } else if (standing.pending.empty()) {
    release(job);
  } else if (standing.pending != at->second) {
    shorten(job, standing.pending);
  }
}

void Dependencies::shorten(std::uint64_t job, const api::DependencyList& pending) {
  forget(job);
  for (const api::Dependency& each : pending) waiting_by_job_[each.job].insert(job);
  waiting_.emplace(job, pending);
  const auto edit = [this, job, text = api::stored_dependencies(pending)](JobTable& records) {
    store::JobRow* row = records.edit_job(job);
    if (row == nullptr || row->over) return;
    row->waits_for = text;
    const core::Node& node = engine_.scheduler().node();
    const core::JobSlot slot = node.find_job(core::JobId(job));
    if (slot != core::kNoJob && node.job(slot).phase == core::JobPhase::kHeld) {
      row->reason = why_held(node.job(slot).holds, *row);
    }
  };
  engine_.post(Input{.event = core::WakeUp{}, .edit_rows = edit});
}

void Dependencies::release(std::uint64_t job) {
  forget(job);
  limits_.prepare_release(job, core::kHoldDependency);
  const auto edit = [job](JobTable& records) {
    store::JobRow* row = records.edit_job(job);
    if (row != nullptr && !row->over) row->waits_for.clear();
  };
  engine_.post(Input{.event = core::JobReleased{core::JobId(job), core::kHoldDependency},
                     .edit_rows = edit});
}

void Dependencies::fail(std::uint64_t job, const std::string& why) {
  forget(job);
  engine_.post(cancellation_of(job, why));
}

Input Dependencies::cancellation_of(std::uint64_t job, const std::string& why) {
  const auto edit = [job, why](JobTable& records) {
    store::JobRow* row = records.edit_job(job);
    if (row == nullptr || row->over) return;
    row->waits_for.clear();
    row->reason = why;
  };
  return Input{.event = core::JobCancelled{core::JobId(job)}, .edit_rows = edit, .reason = why};
}

}  // namespace tangram::daemon
