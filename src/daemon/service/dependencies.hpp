// Dependencies: jobs that wait for other jobs to end (JobRequest::after). Such a job is held with
// the cause kHoldDependency; its row says what it still waits for (JobRow::waits_for). When that
// has ended as it should, the job is released; when it cannot any more, the job is cancelled with
// the reason. What happened is in the store before anything follows from it, so a restart continues
// where the daemon was. Used on the loop only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/dependency.hpp"
#include "api/job.hpp"
#include "daemon/engine/engine.hpp"
#include "http/routes/api_handlers.hpp"

namespace tangram::daemon {

class Limits;

class Dependencies {
 public:
  // Continues what an earlier daemon left.
  Dependencies(Engine& engine, Limits& limits);

  // What a new job with these dependencies has to wait for now.
  struct Standing {
    api::DependencyList pending;
    std::string failure;  // why it can never start; empty: it can
  };
  // A problem: one of the jobs does not exist.
  [[nodiscard]] http::Answer<Standing> standing_of(const api::DependencyList& after) const;

  // Called with jobs whose rows changed, once that is durable.
  void on_jobs_changed(const std::vector<std::uint64_t>& jobs);
  // The input that ends a waiting job because of a dependency.
  [[nodiscard]] static Input cancellation_of(std::uint64_t job, const std::string& why);

 private:
  // How a job ended; nullopt: it is active, or unknown. Of an array: the state of tasks that did
  // not complete, if any have ended; `is_active`: others have not.
  struct End {
    bool is_known = true;
    std::optional<api::JobState> state;
    bool is_active = false;
  };
  [[nodiscard]] End end_of_array(std::uint64_t array) const;
  [[nodiscard]] End end_of(std::uint64_t job) const;
  [[nodiscard]] Standing review(const api::DependencyList& dependencies) const;
  void add(const store::JobRow& row);
  void forget(std::uint64_t job);
  void settle(std::uint64_t job);
  void shorten(std::uint64_t job, const api::DependencyList& pending);
  void release(std::uint64_t job);
  void fail(std::uint64_t job, const std::string& why);

  Engine& engine_;
  Limits& limits_;
  std::map<std::uint64_t, api::DependencyList> waiting_;             // by the job that waits
  std::map<std::uint64_t, std::set<std::uint64_t>> waiting_by_job_;  // by what they wait for
  mutable std::map<std::uint64_t, End> known_ends_;                  // during one call
};

}  // namespace tangram::daemon
