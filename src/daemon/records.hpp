// Records: the jobs, runs, instances and moves as people see them, beside the scheduler's own
// state. They are changed while a batch of events is stepped and written in the same transaction.
// What is over stays in the store only, but for the newest jobs. One rule: a row that was changed
// is in the next Changes; nothing else is kept of it.
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

class Records {
 public:
  Records() = default;
  explicit Records(store::Contents& contents);

  [[nodiscard]] const std::map<std::uint64_t, store::JobRow>& jobs() const { return jobs_; }
  [[nodiscard]] const std::map<std::uint32_t, store::RunRow>& runs() const { return runs_; }
  [[nodiscard]] const std::map<std::uint32_t, store::InstanceRow>& instances() const {
    return instances_;
  }
  [[nodiscard]] const std::map<std::uint32_t, store::GpuRow>& gpus() const { return gpus_; }
  // Of leases that are not over.
  [[nodiscard]] const std::map<std::uint64_t, store::LeaseRow>& leases() const { return leases_; }
  [[nodiscard]] const store::JobRow* job(std::uint64_t id) const;
  [[nodiscard]] const store::RunRow* run(std::uint32_t run) const;
  [[nodiscard]] const store::InstanceRow* instance(std::uint32_t instance) const;
  [[nodiscard]] const store::LeaseRow* lease(std::uint64_t job) const;
  [[nodiscard]] std::uint64_t last_job() const { return last_job_; }
  [[nodiscard]] std::uint64_t over() const { return over_; }
  [[nodiscard]] std::uint64_t next_job() { return ++last_job_; }
  // Numbers up to this one were given out, even if nothing came of it.
  void skip_jobs(std::uint64_t last) { last_job_ = std::max(last_job_, last); }

  // For changing: null if there is none.
  [[nodiscard]] store::JobRow* edit_job(std::uint64_t id);
  [[nodiscard]] store::RunRow* edit_run(std::uint32_t run);
  [[nodiscard]] store::LeaseRow* edit_lease(std::uint64_t job);
  void put(store::JobRow row);
  void put(store::RunRow row);
  void put(store::GpuRow row);
  void put(store::InstanceRow row);
  void put(store::LeaseRow row);
  // Kept in the store only.
  void put(store::SubmissionRow row);
  void put(store::TokenRow row);
  void drop_instance(std::uint32_t instance);
  void begin_move(store::MoveRow row);
  [[nodiscard]] const std::map<std::uint64_t, store::MoveRow>& moves() const { return moves_; }
  [[nodiscard]] const store::MoveRow* move(std::uint64_t job) const;  // under way
  [[nodiscard]] store::MoveRow* edit_move(std::uint64_t job);
  // The move as it ended; none if none was under way.
  std::optional<store::MoveRow> end_move(std::uint64_t job, std::string_view result,
                                         store::WallTime when);
  void set_fact(std::string name, std::string value);

  // The rows changed since the last time, into `changes`; the ids of the jobs among them.
  std::vector<std::uint64_t> take_changes(store::Changes& changes);
  // Once they are on the disk: what is over and not among the newest is left to the store.
  void forget_over();

 private:
  static constexpr std::size_t kMostOver = 256;

  std::map<std::uint64_t, store::JobRow> jobs_;  // without their requests, which are large
  std::map<std::uint32_t, store::RunRow> runs_;  // that are not over
  std::map<std::uint32_t, store::GpuRow> gpus_;
  std::map<std::uint32_t, store::InstanceRow> instances_;
  std::map<std::uint64_t, store::MoveRow> moves_;  // under way, by job
  std::map<std::uint64_t, store::LeaseRow> leases_;
  std::deque<std::uint64_t> over_jobs_;  // in memory, the oldest first
  std::uint64_t last_job_ = 0;
  std::uint64_t over_ = 0;

  std::set<std::uint64_t> touched_jobs_;
  std::set<std::uint32_t> touched_runs_;
  std::set<std::uint32_t> touched_gpus_;
  std::set<std::uint32_t> touched_instances_;
  std::vector<std::uint32_t> instances_gone_;
  std::vector<store::MoveRow> touched_moves_;
  std::set<std::uint64_t> edited_moves_;  // of those under way
  std::set<std::uint64_t> touched_leases_;
  std::vector<store::SubmissionRow> submissions_;
  std::vector<store::TokenRow> tokens_;
  std::map<std::string, std::string> facts_;
};

}  // namespace tangram::daemon
