// Limits: quotas per user and per group. Submissions beyond the rate limit, the number of active or
// held jobs or the bytes of their requests are refused; jobs that exist are never affected by
// those. A job beyond the limit of compute slices is held, outside the queue, until enough jobs of
// its user or group have ended. Queued and running jobs count, from the moment a submission is
// accepted, so a burst cannot exceed a limit. A user counts for every listed group it is a member
// of, as the user cache knows now. Admins have no limits. Used on the loop only.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/node.hpp"
#include "base/rate_limiter.hpp"
#include "daemon/access/access.hpp"
#include "daemon/config/config.hpp"
#include "daemon/engine/engine.hpp"
#include "http/routes/api_handlers.hpp"

namespace tangram::daemon {

class Limits {
 public:
  Limits(Engine& engine, const Access& access, const UserLimits& limits);

  void set(const UserLimits& limits);

  struct Admission {
    bool over_limit = false;  // accepted, but to be held at the slice limit
    std::uint32_t has = 0;    // compute slices of its user or group
    std::uint32_t most = 0;   // that these may have
    std::uint32_t needs = 0;  // of the job
    std::string group = {};   // whose limit it is; empty: the user's
  };
  // How a new job begins.
  struct Beginning {
    bool held = false;        // by its user
    bool waits = false;       // for other jobs: until then it counts as active only
    std::uint32_t tasks = 1;  // more than one: of an array
  };
  // Checks the submission of `row` (its user, profile and request) and counts it for the rate
  // limit. A problem: it is refused.
  [[nodiscard]] http::Answer<Admission> admit(const http::Caller& caller, const store::JobRow& row,
                                              const Beginning& beginning);
  // Whether the caller may submit with this priority; a problem: it is refused. Admins may use any.
  [[nodiscard]] http::Answer<void> admit_priority(const http::Caller& caller, int priority) const;
  // What admit() would return now for a small request; counts nothing.
  [[nodiscard]] http::Answer<Admission> would_admit(const http::Caller& caller, std::uint32_t uid,
                                                    const std::string& profile) const;
  // The time limit that a new job gets; nullopt: none. `requested` has priority over the defaults.
  // A problem: it is above the maximum of its user.
  using TimeLimit = std::optional<std::chrono::milliseconds>;
  [[nodiscard]] http::Answer<TimeLimit> time_limit_of(const http::Caller& caller, api::JobKind kind,
                                                      TimeLimit requested) const;
  // Checks the TTL of a lease against the longest time limit.
  [[nodiscard]] http::Answer<void> check_ttl(const http::Caller& caller,
                                             std::optional<std::chrono::milliseconds> ttl) const;
  // What time_limit_of() applies to this caller.
  [[nodiscard]] api::TimeLimits time_limits_of(const http::Caller& caller) const;
  // Why a job is held at the limit.
  struct Hold {
    std::uint32_t has = 0;  // compute slices, as in Admission
    std::uint32_t most = 0;
    std::uint32_t needs = 0;
    std::string group = {};                    // as in Admission
    std::optional<std::uint64_t> behind = {};  // a job of the same user or group held before it
    std::vector<std::uint64_t> enough = {};    // of these jobs, whose end alone would release it
  };
  [[nodiscard]] std::optional<Hold> hold_of(std::uint64_t job) const;
  // Counts a job from its acceptance until on_jobs_changed() reports it; remove_pending() if its
  // commit failed.
  void add_pending(const store::JobRow& row, const Beginning& beginning,
                   std::uint64_t request_bytes);
  // Whether one more job like `row` would be above the slice limit; it is not refused.
  [[nodiscard]] bool is_over_limit(const http::Caller& caller, const store::JobRow& row) const;
  void remove_pending(std::uint64_t job);
  // Whether the user of these jobs may have them held, too. All are of one user.
  [[nodiscard]] http::Answer<void> admit_hold(const http::Caller& caller,
                                              const std::vector<std::uint64_t>& jobs) const;
  // Call before releasing a job from `cause`. If nothing else holds it, it counts from now on
  // (on_jobs_changed() corrects that if the release fails) or, over the limit, is held at that.
  void prepare_release(std::uint64_t job, core::HoldCause cause);

  // What the caller uses and may use, without its logs. No limits for an admin.
  [[nodiscard]] api::UserUse use_of(const http::Caller& caller) const;

  // Called with jobs whose rows changed, once that is durable; releases held jobs that fit now.
  void on_jobs_changed(const std::vector<std::uint64_t>& jobs);
  // Releases held jobs that fit now, in order of submission. To be called periodically too: the
  // groups of users may have become known.
  void release_held();

 private:
  struct UserLoad {
    std::uint32_t jobs = 0;
    std::uint32_t slices = 0;
    std::uint32_t held_jobs = 0;  // by the user or at a limit
    std::uint64_t request_bytes = 0;
    std::set<std::uint64_t> held;  // at a limit
  };
  struct CountedJob {
    std::uint32_t uid = 0;
    std::uint32_t slices = 0;  // of its profile
    bool counts = false;       // as slices in use; else it is held, or
    bool waits = false;        // waits for other jobs
    std::uint64_t request_bytes = 0;
  };
  // A group of a user, with what its members use.
  struct GroupUse {
    std::string name;
    GroupLimits limits;
    std::set<std::uint32_t> members;  // that have active jobs
    std::uint32_t jobs = 0;
    std::uint32_t slices = 0;
    std::uint32_t held_jobs = 0;
  };

  [[nodiscard]] std::uint32_t slices_of(const std::string& profile) const;
  [[nodiscard]] api::Problem rate_limited() const;
  [[nodiscard]] UserLimits limits_of_user(std::uint32_t uid) const;
  [[nodiscard]] std::vector<GroupUse> groups_of_user(std::uint32_t uid) const;
  [[nodiscard]] http::Answer<Admission> check(std::uint32_t uid, const std::string& profile,
                                              std::uint64_t request_bytes,
                                              const Beginning& beginning) const;
  [[nodiscard]] http::Answer<void> check_counts(std::uint32_t uid, const UserLimits& own,
                                                const std::vector<GroupUse>& groups,
                                                std::uint32_t more) const;
  [[nodiscard]] http::Answer<void> check_held(std::uint32_t uid, const UserLimits& own,
                                              const std::vector<GroupUse>& groups,
                                              std::uint32_t more) const;
  [[nodiscard]] http::Answer<Admission> check_slices(std::uint32_t uid, const std::string& profile,
                                                     const UserLimits& own,
                                                     const std::vector<GroupUse>& groups) const;
  [[nodiscard]] const UserLoad& load_of(std::uint32_t uid) const;
  void count_stored_jobs();
  void count(std::uint64_t job, const CountedJob& now);
  void forget(std::uint64_t job);
  // limits_held.cpp
  struct Excess;
  [[nodiscard]] Excess excess_of(std::uint64_t job) const;
  [[nodiscard]] std::vector<std::uint64_t> jobs_enough_for(const Hold& hold,
                                                           const std::set<std::uint32_t>& users,
                                                           std::uint64_t job) const;
  [[nodiscard]] bool try_unhold(std::uint64_t job);
  [[nodiscard]] std::uint8_t holds_of(std::uint64_t job) const;
  void release(std::uint64_t job);

  Engine& engine_;
  const Access& access_;
  UserLimits limits_;
  std::map<std::uint32_t, UserLoad> loads_;  // by uid
  std::map<std::uint64_t, CountedJob> jobs_;
  RateLimiter submission_rate_{0, 0};  // by uid
};

}  // namespace tangram::daemon
