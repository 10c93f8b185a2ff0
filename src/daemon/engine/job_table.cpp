// See job_table.hpp.
#include "daemon/engine/job_table.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace tangram::daemon {
namespace {

template <class Map, class Key>
auto* find_in(Map& map, const Key& key) {
  const auto at = map.find(key);
  return at == map.end() ? nullptr : &at->second;
}

}  // namespace

JobTable::JobTable(store::Contents& contents)
    : last_job_(contents.last_job), ended_jobs_(contents.jobs_over) {
  for (store::JobRow& row : contents.jobs) {
    row.request.clear();
    row.request.shrink_to_fit();
    if (row.over) ended_job_ids_.push_back(row.id);
    jobs_.emplace(row.id, std::move(row));
  }
  for (store::RunRow& row : contents.runs) {
    const store::JobRow* owner = job(row.job);
    if (owner != nullptr && !owner->over && !row.over) runs_.emplace(row.run, std::move(row));
  }
  for (store::GpuRow& row : contents.gpus) gpus_.emplace(row.gpu, std::move(row));
  for (store::InstanceRow& row : contents.instances) {
    instances_.emplace(row.instance, std::move(row));
  }
  for (store::LeaseRow& row : contents.leases) leases_.emplace(row.job, std::move(row));
  for (store::MoveRow& row : contents.moves) {
    if (!row.ended) moves_.insert_or_assign(row.job, std::move(row));
  }
}

const store::JobRow* JobTable::job(std::uint64_t id) const { return find_in(jobs_, id); }
const store::RunRow* JobTable::run(std::uint32_t run) const { return find_in(runs_, run); }
const store::InstanceRow* JobTable::instance(std::uint32_t instance) const {
  return find_in(instances_, instance);
}

const store::LeaseRow* JobTable::lease(std::uint64_t job) const { return find_in(leases_, job); }

store::JobRow* JobTable::edit_job(std::uint64_t id) {
  store::JobRow* row = find_in(jobs_, id);
  if (row != nullptr) touched_jobs_.insert(id);
  return row;
}

store::RunRow* JobTable::edit_run(std::uint32_t run) {
  store::RunRow* row = find_in(runs_, run);
  if (row != nullptr) touched_runs_.insert(run);
  return row;
}

store::LeaseRow* JobTable::edit_lease(std::uint64_t job) {
  store::LeaseRow* row = find_in(leases_, job);
  if (row != nullptr) touched_leases_.insert(job);
  return row;
}

void JobTable::put(store::JobRow row) {
  touched_jobs_.insert(row.id);
  last_job_ = std::max(last_job_, row.id);
  jobs_.insert_or_assign(row.id, std::move(row));
}

void JobTable::put(store::RunRow row) {
  touched_runs_.insert(row.run);
  runs_.insert_or_assign(row.run, std::move(row));
}

void JobTable::put(store::GpuRow row) {
  touched_gpus_.insert(row.gpu);
  gpus_.insert_or_assign(row.gpu, std::move(row));
}

void JobTable::put(store::InstanceRow row) {
  touched_instances_.insert(row.instance);
  instances_.insert_or_assign(row.instance, std::move(row));
}

void JobTable::put(store::LeaseRow row) {
  touched_leases_.insert(row.job);
  leases_.insert_or_assign(row.job, std::move(row));
}

void JobTable::put(store::SubmissionRow row) { submissions_.push_back(std::move(row)); }
void JobTable::put(store::ArrayRow row) { arrays_.push_back(std::move(row)); }
void JobTable::put(store::TokenRow row) { tokens_.push_back(std::move(row)); }

void JobTable::drop_instance(std::uint32_t instance) {
  if (instances_.erase(instance) == 0) return;
  touched_instances_.erase(instance);
  dropped_instances_.push_back(instance);
}

void JobTable::begin_move(store::MoveRow row) {
  touched_moves_.push_back(row);
  moves_.insert_or_assign(row.job, std::move(row));
}

const store::MoveRow* JobTable::move(std::uint64_t job) const { return find_in(moves_, job); }

store::MoveRow* JobTable::edit_move(std::uint64_t job) {
  store::MoveRow* row = find_in(moves_, job);
  if (row != nullptr) edited_moves_.insert(job);
  return row;
}

std::optional<store::MoveRow> JobTable::end_move(std::uint64_t job, std::string_view result,
                                                 store::WallTime when) {
  const auto at = moves_.find(job);
  if (at == moves_.end()) return std::nullopt;
  store::MoveRow row = std::move(at->second);
  row.result = result;
  row.ended = when;
  if (result != "rolled-back") row.reason.clear();
  touched_moves_.push_back(row);
  moves_.erase(at);
  return row;
}

void JobTable::set_fact(std::string name, std::string value) {
  facts_.insert_or_assign(std::move(name), std::move(value));
}

std::vector<std::uint64_t> JobTable::take_changes(store::Changes& changes) {
  std::vector<std::uint64_t> ids(touched_jobs_.begin(), touched_jobs_.end());
  for (const std::uint64_t id : ids) {
    store::JobRow& row = jobs_.at(id);
    changes.jobs.push_back(row);
    row.request.clear();  // the store has it
    row.request.shrink_to_fit();
    if (row.over && std::ranges::find(ended_job_ids_, id) == ended_job_ids_.end()) {
      ended_job_ids_.push_back(id);
      ++ended_jobs_;
    }
  }
  for (const std::uint32_t run : touched_runs_) changes.runs.push_back(runs_.at(run));
  for (const std::uint32_t gpu : touched_gpus_) changes.gpus.push_back(gpus_.at(gpu));
  for (const std::uint32_t i : touched_instances_) changes.instances.push_back(instances_.at(i));
  for (const std::uint64_t job : touched_leases_) changes.leases.push_back(leases_.at(job));
  for (const std::uint64_t id : ids) {
    if (jobs_.at(id).over) leases_.erase(id);
  }
  changes.submissions = std::exchange(submissions_, {});
  changes.arrays = std::exchange(arrays_, {});
  changes.tokens = std::exchange(tokens_, {});
  changes.instances_gone = std::exchange(dropped_instances_, {});
  changes.moves = std::exchange(touched_moves_, {});
  for (const std::uint64_t job : std::exchange(edited_moves_, {})) {
    if (const store::MoveRow* row = move(job)) changes.moves.push_back(*row);
  }
  changes.facts = std::exchange(facts_, {});
  touched_jobs_.clear();
  touched_leases_.clear();
  touched_runs_.clear();
  touched_gpus_.clear();
  touched_instances_.clear();
  return ids;
}

void JobTable::drop_ended() {
  std::erase_if(runs_, [](const auto& each) { return each.second.over; });
  while (ended_job_ids_.size() > kMaxEndedJobs) {
    jobs_.erase(ended_job_ids_.front());
    ended_job_ids_.pop_front();
  }
}

}  // namespace tangram::daemon
