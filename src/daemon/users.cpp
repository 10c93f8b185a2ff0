// See users.hpp.
#include "daemon/users.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>
#include <vector>

#include "base/text.hpp"

namespace tangram::daemon {
namespace {

constexpr std::uint32_t kNobodysGroup = 0xFFFF'FFFFU;  // no group has this number

constexpr std::size_t kMostKnown = 10'000;
constexpr auto kUnknownFor = std::chrono::seconds(30);

Result<std::optional<Account>> find_account(std::uint32_t uid) {
  std::vector<char> buffer(64U << 10U);
  passwd entry{};
  passwd* found = nullptr;
  const int error = getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
  if (error != 0) {
    return failed(cat("cannot look up the user ", uid, ": ", std::strerror(error), "."));
  }
  if (found == nullptr) return std::optional<Account>();
  return std::optional(Account{
      .name = entry.pw_name, .home = entry.pw_dir, .shell = entry.pw_shell, .gid = entry.pw_gid});
}

KnownUsers& known_users() {
  static KnownUsers users(find_account);
  return users;
}

std::vector<std::uint32_t> groups_of(const Account& account) {
  int count = 64;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  while (getgrouplist(account.name.c_str(), account.gid, groups.data(), &count) < 0) {
    groups.resize(static_cast<std::size_t>(count));
  }
  groups.resize(static_cast<std::size_t>(count));
  return {groups.begin(), groups.end()};
}

}  // namespace

Account KnownUsers::find(std::uint32_t uid, Time now) {
  const std::lock_guard lock(mutex_);
  const auto at = known_.find(uid);
  if (at != known_.end() && now < at->second.until) return at->second.account;
  const auto found = lookup_(uid);
  Known next{.account = {std::to_string(uid), {}, {}, kNobodysGroup}, .until = now + kUnknownFor};
  if (found && *found) {
    next = {.account = **found, .until = Time::max()};
  } else if (!found && at != known_.end()) {
    next.account = at->second.account;
  }
  if (at != known_.end() || known_.size() < kMostKnown) known_.insert_or_assign(uid, next);
  return next.account;
}

void KnownUsers::doubt() {
  const std::lock_guard lock(mutex_);
  for (auto& [uid, known] : known_) known.until = Time::min();
}

std::string user_name(std::uint32_t uid) { return known_users().find(uid).name; }

std::uint32_t group_of(std::uint32_t uid) { return known_users().find(uid).gid; }

void doubt_users() { known_users().doubt(); }

Result<void> add_user(api::RunSpec& spec, std::uint32_t uid) {
  const auto account = find_account(uid);
  if (!account) return std::unexpected(account.error());
  auto& environment = spec.environment;
  if (*account) {
    environment.try_emplace("HOME", (*account)->home);
    environment.try_emplace("USER", (*account)->name);
    environment.try_emplace("LOGNAME", (*account)->name);
    environment.try_emplace("SHELL", (*account)->shell);
    if (spec.directory.empty()) spec.directory = (*account)->home;
  }
  environment.try_emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
  if (spec.directory.empty()) spec.directory = "/";
  if (geteuid() != 0) return {};
  if (!*account) {
    return failed(cat("nobody knows the user ", uid, ", so the job's groups are not known."));
  }
  spec.user =
      api::RunSpec::User{.uid = uid, .gid = (*account)->gid, .groups = groups_of(**account)};
  return {};
}

}  // namespace tangram::daemon
