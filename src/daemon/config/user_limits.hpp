// UserLimits: what [access] and [jobs] of the configuration allow a user: for everybody, for the
// members of a group and for single users. 0 means unlimited, except for priorities.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tangram::daemon {

// Replaces limits of a user; nullopt: unchanged.
struct LimitOverrides {
  std::optional<std::uint32_t> slices = {};
  std::optional<std::uint32_t> jobs = {};
  std::optional<std::uint32_t> held_jobs = {};
  std::optional<std::chrono::milliseconds> max_time = {};
  std::optional<std::int32_t> max_priority = {};

  friend bool operator==(const LimitOverrides&, const LimitOverrides&) = default;
};

// Limits of a group's members: of all of them together, and of each.
struct GroupLimits {
  std::uint32_t slices = 0;
  std::uint32_t jobs = 0;
  std::uint32_t held_jobs = 0;
  LimitOverrides each = {};

  friend bool operator==(const GroupLimits&, const GroupLimits&) = default;
};

// Admins have no limits. The defaults stop one user from filling the disk or the node. A new limit
// applies to new submissions; existing jobs are never refused.
struct UserLimits {
  std::uint32_t slices = 0;     // compute slices of queued and running jobs; further jobs are held
  std::uint32_t jobs = 10'000;  // active jobs, also held ones; further submissions are refused
  std::uint32_t held_jobs = 0;  // jobs held by their user or at a limit; more are refused
  std::uint32_t array_tasks = 1'000;           // of one array; larger ones are refused
  std::uint32_t submissions_per_second = 100;  // averaged over a few seconds; more are refused
  std::uint64_t request_bytes = 64ULL << 20U;  // stored requests of active jobs; more are refused
  std::uint64_t log_bytes = 16ULL << 30U;      // logs of ended runs; the oldest are removed
  std::int32_t max_priority = 0;               // of a submission; 0: users may only lower theirs
  std::chrono::milliseconds default_time{0};   // time limit of batch jobs that request none
  // Longest time limit of a job and longest TTL of a lease; more is refused. Jobs that request no
  // limit and have no default get this one.
  std::chrono::milliseconds max_time{0};
  std::map<std::string, LimitOverrides> users = {};  // by name
  std::map<std::string, GroupLimits> groups = {};    // by name

  friend bool operator==(const UserLimits&, const UserLimits&) = default;
};

// The limits of one user, a member of `groups` (those of no interest are ignored). A limit of the
// user's own has priority over those of its groups, of which the largest counts, and these over
// those of everybody. Has neither users nor groups.
[[nodiscard]] UserLimits limits_of(const UserLimits& limits, const std::string& user,
                                   const std::vector<std::string>& groups);

}  // namespace tangram::daemon
