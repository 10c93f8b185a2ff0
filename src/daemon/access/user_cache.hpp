// The machine's users: names and groups of uids, and the accounts that jobs run as. The user
// database may be a network service that answers late or never, so the event loop never waits for
// it: it gets what is cached, and lookups run on a detached thread. Only look_up_identity() blocks;
// it is called off the loop (user_lookup.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/run_spec.hpp"
#include "base/error.hpp"

namespace tangram::daemon {

// user_name(), group_of() and the functions below use one process-wide UserCache: see its find(),
// identity_known(), is_resolved() and invalidate(). Thread-safe; never block.

// The user's name; the uid as text if the user does not exist or is not known yet.
[[nodiscard]] std::string user_name(std::uint32_t uid);

// The user's primary group; 0xFFFFFFFF if the user does not exist or is not known yet.
[[nodiscard]] std::uint32_t group_of(std::uint32_t uid);

// Which of the listed groups the user is a member of; none while the user is not known. Changing
// the list makes all users be looked up again.
void list_groups(std::vector<std::string> names);
[[nodiscard]] std::vector<std::string> listed_groups_of(std::uint32_t uid);

[[nodiscard]] bool user_identity_known(std::uint32_t uid);
[[nodiscard]] bool is_user_resolved(std::uint32_t uid);
void invalidate_users();

// Returns users that must not be evicted, besides root and the daemon's own. Called on the loop.
using PinnedUsers = std::function<std::set<std::uint32_t>()>;
void pin_users(PinnedUsers users);

struct Account {
  std::string name;
  std::string home;
  std::string shell;
  std::uint32_t gid = 0;
  std::vector<std::string> listed_groups = {};  // of list_groups()
};

// The account that a job runs as.
struct Identity {
  std::uint32_t uid = 0;
  std::optional<Account> account;     // nullopt: no such user
  std::vector<std::uint32_t> groups;  // empty unless the daemon is root, which alone can set them
};

// Queries the user database now; may block for long.
[[nodiscard]] Result<Identity> look_up_identity(std::uint32_t uid);

// Sets the user and groups (when the daemon is root), and home, shell and name where `spec` has
// none.
[[nodiscard]] Result<void> apply_identity(api::RunSpec& spec, const Identity& identity);

// An account is cached until invalidate(); "no such user" and errors for half a minute. If a lookup
// fails, the last known account stays. When the cache is full, unknown users are evicted first,
// then the least recently used. Thread-safe.
class UserCache {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // nullopt: no such user; an error: the database could not be queried.
  using Lookup = std::function<Result<std::optional<Account>>(std::uint32_t uid)>;
  static constexpr std::chrono::seconds kLookupTimeout{2};
  static constexpr std::size_t kMaxKnown = 10'000;  // besides pinned users
  static constexpr std::size_t kMaxQueued = 1'000;  // lookups

  explicit UserCache(Lookup lookup);

  // What is cached now; starts a lookup if that is outdated or missing.
  [[nodiscard]] Account find(std::uint32_t uid, Time now = std::chrono::steady_clock::now());
  // True if waiting is pointless: no lookup of this user is pending, or it has been for longer than
  // kLookupTimeout.
  [[nodiscard]] bool identity_known(std::uint32_t uid, Time now = std::chrono::steady_clock::now());
  // True if a lookup has returned the account or that there is none.
  [[nodiscard]] bool is_resolved(std::uint32_t uid, Time now = std::chrono::steady_clock::now());
  // All users are looked up again at their next use.
  void invalidate();
  void pin(PinnedUsers users);

 private:
  struct Parts;
  std::shared_ptr<Parts> parts_;  // shared with a lookup thread that may outlive the cache
};

}  // namespace tangram::daemon
