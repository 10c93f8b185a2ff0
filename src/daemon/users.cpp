// See users.hpp.
#include "daemon/users.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <grp.h>
#include <map>
#include <mutex>
#include <pwd.h>
#include <unistd.h>
#include <vector>

#include "base/text.hpp"

namespace tangram::daemon {
namespace {

struct Account {
  std::string name;
  std::string home;
  std::string shell;
  std::uint32_t gid = 0;
};

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

std::string user_name(std::uint32_t uid) {
  static std::mutex mutex;
  static std::map<std::uint32_t, std::string> known;
  const std::lock_guard lock(mutex);
  const auto at = known.find(uid);
  if (at != known.end()) return at->second;
  const auto account = find_account(uid);
  std::string name = account && *account ? (*account)->name : std::to_string(uid);
  if (account && known.size() < 10'000) known.emplace(uid, name);
  return name;
}

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
