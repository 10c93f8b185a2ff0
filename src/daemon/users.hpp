// Users of the machine: names for numbers, and what a job of theirs runs with. The answers may come
// from a directory service and take their time, or never come. One rule: what the loop asks is
// answered at once, from what is known; who is not known yet is looked up in a thread, and however
// many strangers are asked for, those who matter stay known. Only look_up_identity waits; it
// is called off the loop (directory.hpp).
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

// "alice"; the number itself if nobody knows it, or not yet.
[[nodiscard]] std::string user_name(std::uint32_t uid);

// The user's own group; a number that no group has if nobody knows the user, or not yet.
[[nodiscard]] std::uint32_t group_of(std::uint32_t uid);

// Whether there is no point in waiting for a better answer: see KnownUsers.
[[nodiscard]] bool is_user_settled(std::uint32_t uid);

// Whether it was found out who this is, or that there is no such user.
[[nodiscard]] bool is_user_known(std::uint32_t uid);

// From now on everybody is looked up again, once.
void doubt_users();

// Who is never forgotten, besides root and ourselves; asked on the loop, now and then.
using Keep = std::function<std::set<std::uint32_t>()>;
void keep_users(Keep whom);

struct Account {
  std::string name;
  std::string home;
  std::string shell;
  std::uint32_t gid = 0;
};

// Who a job runs as.
struct Identity {
  std::uint32_t uid = 0;
  std::optional<Account> account;     // none: nobody knows the user
  std::vector<std::uint32_t> groups;  // none unless we are root: nobody else can give them
};

// Asked for now.
[[nodiscard]] Result<Identity> look_up_identity(std::uint32_t uid);

// Fills in the user's groups (when we are root), home, shell and name where the spec has none.
[[nodiscard]] Result<void> add_user(api::RunSpec& spec, const Identity& who);

// What was found is remembered until it is doubted; that nobody is known or could be asked, for
// half a minute. Who was known and cannot be asked about now stays who he was. Of too many, those
// are forgotten whom nobody knows, then those who were not asked for the longest.
class KnownUsers {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // No account: there is no such user; an error: it could not be asked.
  using Lookup = std::function<Result<std::optional<Account>>(std::uint32_t uid)>;
  static constexpr std::chrono::seconds kPatience{2};
  static constexpr std::size_t kMostKnown = 10'000;   // besides those who are kept
  static constexpr std::size_t kMostWaiting = 1'000;  // to be looked up

  explicit KnownUsers(Lookup lookup);

  // As far as is known. Who is not, or no longer, is looked up, and is known later.
  [[nodiscard]] Account find(std::uint32_t uid, Time now = std::chrono::steady_clock::now());
  // Whether find() gives what the lookup said, or that takes longer than a caller should wait.
  [[nodiscard]] bool is_settled(std::uint32_t uid, Time now = std::chrono::steady_clock::now());
  // Whether the lookup has said who this is, or that nobody is.
  [[nodiscard]] bool is_known(std::uint32_t uid, Time now = std::chrono::steady_clock::now());
  void doubt();
  void keep(Keep whom);

 private:
  struct Parts;
  std::shared_ptr<Parts> parts_;  // a lookup that hangs has its share, and nobody waits for it
};

}  // namespace tangram::daemon
