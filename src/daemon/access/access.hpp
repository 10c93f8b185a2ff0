// Access: all authorization rules. Every user whom the daemon serves may list all jobs in outline;
// output, environment and control of a job belong to its owner and the admins. Admins are root, the
// daemon's own user and the members of one group. Only root and the daemon's own user may act as
// another user. A token never grants more than its user has, and less if its scope says so.
// Used on the loop only; the group is looked up on a detached thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "http/routes/api_handlers.hpp"

namespace tangram::daemon {

class Access {
 public:
  struct Group {
    std::uint32_t gid = 0;
    std::set<std::uint32_t> members;  // uids listed in the group database
  };
  // nullopt: no such group. An error: the group database could not be read.
  using Lookup = std::function<Result<std::optional<Group>>(const std::string& name)>;

  // `admins_group`: empty for none. `lookup`: null for the system's group database. Blocks for a
  // few seconds until the members are known; if that takes longer, the group has no members until
  // then.
  explicit Access(std::string admins_group, Lookup lookup = nullptr);

  // Starts reading the group's members again on a detached thread. The known members stay in effect
  // until that has succeeded.
  void reload();
  // Calls reload() if the last lookup failed. To be called periodically.
  void retry_lookup();
  // Blocks until no lookup is pending; false after `timeout`.
  bool wait_for_lookup(std::chrono::milliseconds timeout);
  // Changes the group; a new one has no members until it was read.
  void set_group(std::string admins_group);
  // Whether only admins may submit jobs and take leases, e.g. if another scheduler does so for
  // users.
  void restrict_submission(bool only_admins) { only_admins_submit_ = only_admins; }

  [[nodiscard]] bool is_admin(const http::Caller& caller) const;
  // may_read(): whether the caller may read output and environment of jobs of `owner`.
  // may_control(): whether the caller may change them.
  [[nodiscard]] bool may_read(const http::Caller& caller, std::uint32_t owner) const;
  [[nodiscard]] bool may_control(const http::Caller& caller, std::uint32_t owner) const;

  // The checks below return 403 with a reason. admit(): whether the daemon serves this caller at
  // all.
  [[nodiscard]] http::Answer<void> admit(const http::Caller& caller) const;
  // admit(), for requests that change something.
  [[nodiscard]] http::Answer<void> admit_change(const http::Caller& caller) const;
  // admit_change(), for submitting jobs and acquiring leases.
  [[nodiscard]] http::Answer<void> admit_submission(const http::Caller& caller) const;
  // For admins only; `action` is e.g. "cordon GPUs".
  [[nodiscard]] http::Answer<void> require_admin(const http::Caller& caller,
                                                 std::string_view action) const;
  // For root and the daemon's own user only: actions that let a caller act as another user, e.g.
  // "create tokens for others". Members of the admins' group may not.
  [[nodiscard]] http::Answer<void> require_superuser(const http::Caller& caller,
                                                     std::string_view action) const;
  [[nodiscard]] static bool is_superuser(const http::Caller& caller);
  // For the owner and admins; `subject` is e.g. "job 7", `action` "cancel".
  [[nodiscard]] http::Answer<void> require_control(const http::Caller& caller, std::uint32_t owner,
                                                   std::string_view subject,
                                                   std::string_view action) const;
  // For what `taker` took on behalf of `owner`: only the taker and admins; the owner may read it.
  [[nodiscard]] http::Answer<void> require_taker(const http::Caller& caller, std::uint32_t taker,
                                                 std::uint32_t owner, std::string_view subject,
                                                 std::string_view action) const;
  [[nodiscard]] http::Answer<void> require_read(const http::Caller& caller, std::uint32_t owner,
                                                std::string_view subject,
                                                std::string_view action) const;

 private:
  struct PendingLookup;
  void start_lookup() const;
  void take_result() const;
  void report_error(std::string error) const;

  Lookup lookup_;
  std::string group_name_;
  std::uint32_t own_uid_;  // of the user the daemon runs as
  bool only_admins_submit_ = false;
  mutable std::optional<Group> group_;              // nullopt: none or unknown
  mutable std::shared_ptr<PendingLookup> pending_;  // in progress, or result not taken
  mutable bool lookup_again_ = false;               // after the pending one
  mutable std::string lookup_error_;                // of the last lookup; empty: succeeded
};

}  // namespace tangram::daemon
