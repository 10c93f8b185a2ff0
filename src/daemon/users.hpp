// Users of the machine: names for numbers, and what a job of theirs runs with. The answers may come
// from a directory service and take their time. One rule: only add_user may block; it is called off
// the loop. What the loop asks is remembered, also that there was no answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "api/run_spec.hpp"
#include "base/error.hpp"

namespace tangram::daemon {

// "alice"; the number itself if nobody knows it.
[[nodiscard]] std::string user_name(std::uint32_t uid);

// The user's own group; a number that no group has if nobody knows the user.
[[nodiscard]] std::uint32_t group_of(std::uint32_t uid);

// From now on everybody is looked up again, once.
void doubt_users();

// Fills in the user's groups (when we are root), home, shell and name where the spec has none.
[[nodiscard]] Result<void> add_user(api::RunSpec& spec, std::uint32_t uid);

struct Account {
  std::string name;
  std::string home;
  std::string shell;
  std::uint32_t gid = 0;
};

// What was found is remembered until it is doubted; that nobody is known or could be asked, for
// half a minute. Who was known and cannot be asked about now stays who he was.
class KnownUsers {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // No account: there is no such user; an error: it could not be asked.
  using Lookup = std::function<Result<std::optional<Account>>(std::uint32_t uid)>;

  explicit KnownUsers(Lookup lookup) : lookup_(std::move(lookup)) {}

  [[nodiscard]] Account find(std::uint32_t uid, Time now = std::chrono::steady_clock::now());
  void doubt();

 private:
  struct Known {
    Account account;
    Time until{};
  };

  std::mutex mutex_;
  Lookup lookup_;
  std::map<std::uint32_t, Known> known_;
};

}  // namespace tangram::daemon
