// See array_service.hpp.
#include "daemon/service/array_service.hpp"

#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "api/job.hpp"
#include "base/text.hpp"
#include "daemon/access/limits.hpp"
#include "daemon/access/problems.hpp"
#include "daemon/access/user_cache.hpp"

namespace tangram::daemon {
namespace {

std::string_view name_of(http::ArrayAction action) {
  if (action == http::ArrayAction::kCancel) return "cancel";
  return action == http::ArrayAction::kHold ? "hold" : "release";
}

api::ArraySpec spec_of(const store::ArrayRow& row) {
  return api::parse_array(row.spec).value_or(api::ArraySpec{});
}

// A waiting task ends at once; why it waited is not why it ended.
void clear_reason_to_wait(JobTable& records, std::uint64_t id) {
  store::JobRow* row = records.edit_job(id);
  if (row == nullptr || row->over) return;
  row->waits_for.clear();
  if (row->state == api::name_of(api::JobState::kHeld)) row->reason.clear();
}

}  // namespace

ArrayService::ArrayService(Engine& engine, const Access& access, Limits& limits)
    : engine_(engine), access_(access), limits_(limits) {
  std::vector<std::uint64_t> jobs;
  for (const auto& [id, row] : engine_.records().jobs()) {
    if (row.array != 0 && !row.over) jobs.push_back(id);
  }
  on_jobs_changed(jobs);
}

void ArrayService::register_handlers(http::ApiHandlers& handlers) {
  handlers.array = [this](const http::Caller& caller, std::uint64_t id) {
    return array(caller, id);
  };
  handlers.change_array = [this](const http::Caller& caller, std::uint64_t id,
                                 http::ArrayAction action,
                                 const std::optional<api::ArrayIndices>& indices,
                                 const http::Reply<api::ArrayView>& reply) {
    change(caller, id, action, indices, reply);
  };
}

http::Answer<store::ArrayRow> ArrayService::find(const http::Caller& caller,
                                                 std::uint64_t id) const {
  if (const auto admitted = access_.admit(caller); !admitted)
    return std::unexpected(admitted.error());
  auto row = engine_.store().array(id);
  if (!row) return std::unexpected(unavailable(row.error().message));
  if (*row) return **std::move(row);
  return std::unexpected(missing(cat("array ", id, ": not found; see `tangram ps --all`.")));
}

http::Answer<api::ArrayView> ArrayService::array(const http::Caller& caller,
                                                 std::uint64_t id) const {
  const auto row = find(caller, id);
  if (!row) return std::unexpected(row.error());
  auto states = engine_.store().array_states(id);
  if (!states) return std::unexpected(unavailable(states.error().message));
  return api::ArrayView{.id = row->id,
                        .user = row->user,
                        .uid = row->uid,
                        .name = row->name,
                        .profile = row->profile,
                        .spec = spec_of(*row),
                        .first = row->first,
                        .states = *std::move(states),
                        .changed = std::nullopt};
}

std::uint8_t ArrayService::holds_of(std::uint64_t job) const {
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(core::JobId(job));
  return slot == core::kNoJob ? std::uint8_t{0} : node.job(slot).holds;
}

bool ArrayService::applies(http::ArrayAction action, std::uint64_t job) const {
  const store::JobRow* row = engine_.records().job(job);
  if (row == nullptr || row->over) return false;
  const auto state = api::find_state(row->state);
  const bool waits = state == api::JobState::kQueued || state == api::JobState::kHeld;
  const bool is_held = (holds_of(job) & core::kHoldUser) != 0;
  switch (action) {
    case http::ArrayAction::kCancel:
      return true;
    case http::ArrayAction::kHold:
      return waits && !is_held;
    case http::ArrayAction::kRelease:
      return is_held;
  }
  return false;
}

http::Answer<std::vector<std::uint64_t>> ArrayService::affected(
    const store::ArrayRow& row, http::ArrayAction action,
    const std::optional<api::ArrayIndices>& indices) const {
  api::ArrayView view;
  view.spec = spec_of(row);
  view.first = row.first;
  std::vector<std::uint64_t> jobs;
  for (const std::uint32_t index : indices.value_or(view.spec.indices)) {
    const auto job = job_of_task(view, index);
    if (!job) {
      return std::unexpected(
          missing(cat("array ", row.id, " has no task ", index, ": its tasks are ",
                      api::indices_text(view.spec.indices), ".")));
    }
    if (applies(action, *job)) jobs.push_back(*job);
  }
  if (!jobs.empty()) return jobs;
  return std::unexpected(
      conflict(cat("array ", row.id, ": there is no task to ", name_of(action), ".")));
}

void ArrayService::change(const http::Caller& caller, std::uint64_t id, http::ArrayAction action,
                          const std::optional<api::ArrayIndices>& indices,
                          const http::Reply<api::ArrayView>& reply) {
  const auto row = find(caller, id);
  if (!row) {
    reply(std::unexpected(row.error()));
    return;
  }
  const auto may = access_.require_control(caller, row->uid, cat("array ", id), name_of(action));
  if (!may) {
    reply(std::unexpected(may.error()));
    return;
  }
  const auto jobs = affected(*row, action, indices);
  if (!jobs) {
    reply(std::unexpected(jobs.error()));
    return;
  }
  if (action == http::ArrayAction::kHold) {
    if (const auto ok = limits_.admit_hold(caller, *jobs); !ok) {
      reply(std::unexpected(ok.error()));
      return;
    }
  }
  post(caller, *jobs, action, [this, caller, id, reply, jobs = *jobs](const Result<void>& result) {
    if (!result) {
      limits_.on_jobs_changed(jobs);
      reply(std::unexpected(unavailable(result.error().message)));
      return;
    }
    auto view = array(caller, id);
    if (view) view->changed = jobs.size();
    reply(std::move(view));
  });
}

// All tasks in one transaction.
void ArrayService::post(const http::Caller& caller, const std::vector<std::uint64_t>& jobs,
                        http::ArrayAction action,
                        const std::function<void(const Result<void>&)>& done) {
  for (const std::uint64_t job : jobs) {
    if (action == http::ArrayAction::kRelease) limits_.prepare_release(job, core::kHoldUser);
  }
  for (const std::uint64_t job : jobs) {
    const core::JobId id(job);
    Input input{.event = core::JobCancelled{id},
                .may_be_refused = true,
                .joined = job != jobs.front(),
                .requested_by = user_name(caller.uid)};
    if (action == http::ArrayAction::kHold) input.event = core::JobHeld{id};
    if (action == http::ArrayAction::kRelease) input.event = core::JobReleased{id};
    if (action == http::ArrayAction::kCancel) {
      input.edit_rows = [job](JobTable& records) { clear_reason_to_wait(records, job); };
    }
    if (job == jobs.front()) input.done = done;
    engine_.post(std::move(input));
  }
}

ArrayService::Active& ArrayService::entry_of(std::uint64_t array) {
  const auto [at, is_new] = arrays_.try_emplace(array);
  if (!is_new) return at->second;
  const auto row = engine_.store().array(array);
  if (!row) spdlog::error("{}", row.error().message);
  if (row && *row) at->second.most = spec_of(**row).most_active;
  return at->second;
}

void ArrayService::on_jobs_changed(const std::vector<std::uint64_t>& jobs) {
  std::set<std::uint64_t> affected;
  for (const std::uint64_t id : jobs) {
    const store::JobRow* row = engine_.records().job(id);
    if (row == nullptr || row->array == 0) continue;
    Active& array = entry_of(row->array);
    affected.insert(row->array);
    const bool is_held = !row->over && (holds_of(id) & core::kHoldArray) != 0;
    if (is_held && array.releasing.contains(id)) continue;
    array.releasing.erase(id);
    array.waiting.erase(id);
    array.tasks.erase(id);
    if (row->over) continue;
    (is_held ? array.waiting : array.tasks).insert(id);
  }
  for (const std::uint64_t id : affected) {
    Active& array = arrays_.at(id);
    release_waiting(array);
    if (array.tasks.empty() && array.waiting.empty()) arrays_.erase(id);
  }
}

void ArrayService::release_waiting(Active& array) {
  while (!array.waiting.empty() && (array.most == 0 || array.tasks.size() < array.most)) {
    const std::uint64_t job = *array.waiting.begin();
    array.waiting.erase(array.waiting.begin());
    array.tasks.insert(job);
    array.releasing.insert(job);
    limits_.prepare_release(job, core::kHoldArray);
    engine_.post(core::JobReleased{core::JobId(job), core::kHoldArray});
  }
}

}  // namespace tangram::daemon
