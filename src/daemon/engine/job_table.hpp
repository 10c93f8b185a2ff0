// JobTable: the rows of jobs, runs, instances, moves and leases that people see, beside the
// scheduler's own state. Changed while a batch is stepped and committed in the same transaction;
// every changed row is in the next take_changes(). Holds the rows of everything active and of the
// newest ended jobs; the store has all. Used on the loop only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "store/store.hpp"

namespace tangram::daemon {

class JobTable {
 public:
  JobTable() = default;
  explicit JobTable(store::Contents& contents);

  [[nodiscard]] const std::map<std::uint64_t, store::JobRow>& jobs() const { return jobs_; }
  [[nodiscard]] const std::map<std::uint32_t, store::RunRow>& runs() const { return runs_; }
  [[nodiscard]] const std::map<std::uint32_t, store::InstanceRow>& instances() const {
    return instances_;
  }
  [[nodiscard]] const std::map<std::uint32_t, store::GpuRow>& gpus() const { return gpus_; }
  // Active leases only.
  [[nodiscard]] const std::map<std::uint64_t, store::LeaseRow>& leases() const { return leases_; }
  [[nodiscard]] const store::JobRow* job(std::uint64_t id) const;
  [[nodiscard]] const store::RunRow* run(std::uint32_t run) const;
  [[nodiscard]] const store::InstanceRow* instance(std::uint32_t instance) const;
  [[nodiscard]] const store::LeaseRow* lease(std::uint64_t job) const;
  [[nodiscard]] std::uint64_t last_job() const { return last_job_; }
  [[nodiscard]] std::uint64_t ended_jobs() const { return ended_jobs_; }  // including deleted ones
  [[nodiscard]] std::uint64_t allocate_job_id() { return ++last_job_; }
  // Marks ids up to `last` as allocated, including those of jobs that were rolled back.
  void reserve_job_ids(std::uint64_t last) { last_job_ = std::max(last_job_, last); }

  // Marks the row as changed and returns it; null if it is not in memory. Called within
  // Input::edit_rows or by the engine; valid until drop_ended().
  [[nodiscard]] store::JobRow* edit_job(std::uint64_t id);
  [[nodiscard]] store::RunRow* edit_run(std::uint32_t run);
  [[nodiscard]] store::LeaseRow* edit_lease(std::uint64_t job);
  void put(store::JobRow row);
  void put(store::RunRow row);
  void put(store::GpuRow row);
  void put(store::InstanceRow row);
  void put(store::LeaseRow row);
  // Written to the store, not kept in memory.
  void put(store::SubmissionRow row);
  void put(store::ArrayRow row);
  void put(store::TokenRow row);
  void drop_instance(std::uint32_t instance);
  void begin_move(store::MoveRow row);
  [[nodiscard]] const std::map<std::uint64_t, store::MoveRow>& moves() const { return moves_; }
  [[nodiscard]] const store::MoveRow* move(std::uint64_t job) const;  // in progress
  [[nodiscard]] store::MoveRow* edit_move(std::uint64_t job);
  // Returns the ended move; nullopt if none was in progress.
  std::optional<store::MoveRow> end_move(std::uint64_t job, std::string_view result,
                                         store::WallTime when);
  void set_fact(std::string name, std::string value);

  // Moves all changed rows into `changes`; returns the ids of the changed jobs.
  std::vector<std::uint64_t> take_changes(store::Changes& changes);
  // Call once the changes are durable: drops ended rows except those of the newest ended jobs.
  void drop_ended();

 private:
  static constexpr std::size_t kMaxEndedJobs = 256;

  std::map<std::uint64_t, store::JobRow> jobs_;  // without their (large) requests
  std::map<std::uint32_t, store::RunRow> runs_;  // active
  std::map<std::uint32_t, store::GpuRow> gpus_;
  std::map<std::uint32_t, store::InstanceRow> instances_;
  std::map<std::uint64_t, store::MoveRow> moves_;  // in progress, by job
  std::map<std::uint64_t, store::LeaseRow> leases_;
  std::deque<std::uint64_t> ended_job_ids_;  // in memory, oldest first
  std::uint64_t last_job_ = 0;
  std::uint64_t ended_jobs_ = 0;

  std::set<std::uint64_t> touched_jobs_;
  std::set<std::uint32_t> touched_runs_;
  std::set<std::uint32_t> touched_gpus_;
  std::set<std::uint32_t> touched_instances_;
  std::vector<std::uint32_t> dropped_instances_;
  std::vector<store::MoveRow> touched_moves_;
  std::set<std::uint64_t> edited_moves_;  // in progress, by job
  std::set<std::uint64_t> touched_leases_;
  std::vector<store::SubmissionRow> submissions_;
  std::vector<store::ArrayRow> arrays_;
  std::vector<store::TokenRow> tokens_;
  std::map<std::string, std::string> facts_;
};

}  // namespace tangram::daemon
