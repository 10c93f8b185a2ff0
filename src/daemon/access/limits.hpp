// Limits: quotas per user. Submissions beyond the rate limit or the number of active jobs are
// refused. A job beyond the limit of compute slices is held, outside the queue, until enough of its
// user's jobs have ended. Queued and running jobs count, from the moment a submission is accepted,
// so a burst cannot exceed a limit. Admins have no limits. Used on the loop only.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

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
    std::uint32_t has = 0;    // compute slices of its user
    std::uint32_t most = 0;   // that its user may have
    std::uint32_t needs = 0;  // of the job
  };
  // Checks a submission of `uid` with this profile and counts it for the rate limit. A problem: it
  // is refused.
  [[nodiscard]] http::Answer<Admission> admit(const http::Caller& caller, std::uint32_t uid,
                                              const std::string& profile);
  // What admit() would return now; counts nothing.
  [[nodiscard]] http::Answer<Admission> would_admit(const http::Caller& caller, std::uint32_t uid,
                                                    const std::string& profile) const;
  // Why a job is held at the limit.
  struct Hold {
    std::uint32_t has = 0;  // compute slices, as in Admission
    std::uint32_t most = 0;
    std::uint32_t needs = 0;
    std::optional<std::uint64_t> behind = {};  // a job of the same user held before it
    std::vector<std::uint64_t> enough =
        {};  // of the user's jobs, those whose end alone would release it
  };
  [[nodiscard]] std::optional<Hold> hold_of(std::uint64_t job) const;
  // Counts a job from its acceptance until changed() reports it; remove_pending() if its commit
  // failed.
  void add_pending(std::uint64_t job, std::uint32_t uid, const std::string& profile, bool held);
  void remove_pending(std::uint64_t job);
  // Call before releasing a job that its user held. True: it is within the limit and counts from
  // now on; changed() corrects that if the release fails.
  [[nodiscard]] bool try_unhold(std::uint64_t job);

  // Call with jobs whose rows changed; releases held jobs that fit now.
  void changed(const std::vector<std::uint64_t>& jobs);

 private:
  using Steady = std::chrono::steady_clock;
  struct UserLoad {
    std::uint32_t jobs = 0;
    std::uint32_t slices = 0;
    std::set<std::uint64_t> held;  // by the limit
  };
  struct CountedJob {
    std::uint32_t uid = 0;
    std::uint32_t slices = 0;  // of its profile
    bool counts = false;       // as slices in use
  };
  struct Bucket {
    double level = 0;
    Steady::time_point at;
  };

  [[nodiscard]] std::uint32_t slices_of(const std::string& profile) const;
  [[nodiscard]] double bucket_level(std::uint32_t uid, Steady::time_point now) const;
  [[nodiscard]] bool is_full(double level) const;
  // Counts a submission in the user's bucket; true: the bucket is full.
  [[nodiscard]] bool exceeds_rate_limit(std::uint32_t uid);
  [[nodiscard]] api::Problem rate_limited() const;
  [[nodiscard]] http::Answer<Admission> check(std::uint32_t uid, const std::string& profile) const;
  [[nodiscard]] bool exceeds(std::uint64_t job) const;
  void count(std::uint64_t job, const CountedJob& now);
  void forget(std::uint64_t job);
  void release_held(std::uint32_t uid);

  Engine& engine_;
  const Access& access_;
  UserLimits limits_;
  std::map<std::uint32_t, UserLoad> loads_;  // by uid
  std::map<std::uint64_t, CountedJob> jobs_;
  std::map<std::uint32_t, Bucket> buckets_;
};

}  // namespace tangram::daemon
