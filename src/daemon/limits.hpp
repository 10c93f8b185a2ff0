// Limits: how much one user may have at once. Submissions that come too fast or would make too many
// jobs are refused; a job whose slices would be too many is held, outside the queue, until enough
// of its user's others are over. One rule: what counts is what runs or waits in the queue, counted
// from the moment a submission is accepted, so that no burst slips through.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/access.hpp"
#include "daemon/config.hpp"
#include "daemon/engine.hpp"
#include "http/doors.hpp"

namespace tangram::daemon {

class Limits {
 public:
  Limits(Engine& engine, const Access& access, const UserLimits& limits);

  void set(const UserLimits& limits);

  struct Admission {
    bool over_limit = false;  // accepted, to be held: its user has so many slices, of so many, and
    std::uint32_t has = 0;    // it needs so many more
    std::uint32_t most = 0;
    std::uint32_t needs = 0;
  };
  // A job of this user with this profile: whether it may come, and how. Counts as a submission.
  [[nodiscard]] http::Answer<Admission> admit(const http::Caller& caller, std::uint32_t uid,
                                              const std::string& profile);
  // What admit() would answer now. Counts as nothing.
  [[nodiscard]] http::Answer<Admission> would_admit(const http::Caller& caller, std::uint32_t uid,
                                                    const std::string& profile) const;
  // What keeps a job held.
  struct Hold {
    std::uint32_t has = 0;  // its user, in slices
    std::uint32_t most = 0;
    std::uint32_t needs = 0;
    std::optional<std::uint64_t> behind = {};  // a job of his that was held before it
    std::vector<std::uint64_t> enough = {};  // jobs of his each of whose end alone would let it go
  };
  [[nodiscard]] std::optional<Hold> hold_of(std::uint64_t job) const;
  // It got this number, and is on its way to the store; or did not get there.
  void coming(std::uint64_t job, std::uint32_t uid, const std::string& profile, bool held);
  void not_coming(std::uint64_t job);
  // The job, held by its user so far, is about to be let go: it counts from now on, unless it would
  // be too much. changed() sets that right if nothing comes of it.
  [[nodiscard]] bool let_in(std::uint64_t job);

  // Jobs whose records changed: what they leave may let others go.
  void changed(const std::vector<std::uint64_t>& jobs);

 private:
  using Steady = std::chrono::steady_clock;
  struct Share {
    std::uint32_t jobs = 0;
    std::uint32_t slices = 0;
    std::set<std::uint64_t> held;  // by the limit
  };
  struct Counted {
    std::uint32_t uid = 0;
    std::uint32_t slices = 0;  // of its profile
    bool counts = false;       // as slices in use
  };
  struct Bucket {
    double drops = 0;
    Steady::time_point at;
  };

  [[nodiscard]] std::uint32_t slices_of(const std::string& profile) const;
  [[nodiscard]] double drops(std::uint32_t uid, Steady::time_point now) const;
  [[nodiscard]] bool is_full(double drops) const;
  [[nodiscard]] bool too_fast(std::uint32_t uid);
  [[nodiscard]] api::Problem comes_too_fast() const;
  [[nodiscard]] http::Answer<Admission> check(std::uint32_t uid, const std::string& profile) const;
  [[nodiscard]] bool exceeds(std::uint64_t job) const;
  void count(std::uint64_t job, const Counted& now);
  void forget(std::uint64_t job);
  void let_go(std::uint32_t uid);

  Engine& engine_;
  const Access& access_;
  UserLimits limits_;
  std::map<std::uint32_t, Share> shares_;  // by uid
  std::map<std::uint64_t, Counted> jobs_;
  std::map<std::uint32_t, Bucket> buckets_;
};

}  // namespace tangram::daemon
