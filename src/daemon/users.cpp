// See users.hpp.
#include "daemon/users.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <grp.h>
#include <map>
#include <mutex>
#include <pwd.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
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

struct KnownUsers::Parts {
  struct Known {
    Account account;
    Time until = Time::min();        // after that he is looked up again
    std::optional<Time> asked = {};  // since then, and there is no answer yet
    bool is_doubted = false;         // since he was asked for
  };

  explicit Parts(Lookup the_lookup) : lookup(std::move(the_lookup)) {}

  static Account unknown(std::uint32_t uid) { return {std::to_string(uid), {}, {}, kNobodysGroup}; }

  Known& known_as(std::uint32_t uid) {
    const auto at = known.find(uid);
    if (at != known.end()) return at->second;
    // Who is dropped is looked up again when he comes back.
    if (known.size() >= kMostKnown) known.erase(known.begin());
    return known[uid] = {.account = unknown(uid)};
  }
  // Whether somebody must go and look up who is in the queue.
  bool ask(Known& user, std::uint32_t uid, Time now) {
    if (user.asked || now < user.until) return false;
    user.asked = now;
    user.is_doubted = false;
    queue.push_back(uid);
    return !std::exchange(is_looking, true);
  }
  void take(std::uint32_t uid, const Result<std::optional<Account>>& found) {
    const auto at = known.find(uid);
    if (at == known.end() || !at->second.asked) return;
    Known& user = at->second;
    const bool is_there = found && *found;
    user.until = is_there ? Time::max() : *user.asked + kUnknownFor;
    if (user.is_doubted) user.until = Time::min();
    user.asked.reset();
    if (found) user.account = is_there ? **found : unknown(uid);
  }

  std::mutex mutex;  // of all below
  std::map<std::uint32_t, Known> known;
  std::deque<std::uint32_t> queue;
  bool is_looking = false;
  const Lookup lookup;
};

namespace {

// Until nobody is in the queue. Whoever hangs in there does so without the mutex.
template <class Parts>
void look_up_all(const std::shared_ptr<Parts>& parts) {
  std::unique_lock lock(parts->mutex);
  while (!parts->queue.empty()) {
    const std::uint32_t uid = parts->queue.front();
    parts->queue.pop_front();
    lock.unlock();
    const auto found = parts->lookup(uid);
    lock.lock();
    parts->take(uid, found);
  }
  parts->is_looking = false;
}

// Nobody waits for it, not even at the end of the program.
template <class Parts>
void begin_looking(const std::shared_ptr<Parts>& parts) {
  try {
    std::thread([parts] { look_up_all(parts); }).detach();
  } catch (const std::system_error&) {
    parts->is_looking = false;  // there is no thread to be had now; whoever asks next tries again
  }
}

}  // namespace

KnownUsers::KnownUsers(Lookup lookup) : parts_(std::make_shared<Parts>(std::move(lookup))) {}

Account KnownUsers::find(std::uint32_t uid, Time now) {
  const std::lock_guard lock(parts_->mutex);
  Parts::Known& user = parts_->known_as(uid);
  if (parts_->ask(user, uid, now)) begin_looking(parts_);
  return user.account;
}

bool KnownUsers::is_settled(std::uint32_t uid, Time now) {
  const std::lock_guard lock(parts_->mutex);
  Parts::Known& user = parts_->known_as(uid);
  if (parts_->ask(user, uid, now)) begin_looking(parts_);
  return !user.asked || now - *user.asked >= kPatience;
}

void KnownUsers::doubt() {
  const std::lock_guard lock(parts_->mutex);
  for (auto& [uid, user] : parts_->known) {
    user.until = Time::min();
    user.is_doubted = true;
  }
}

std::string user_name(std::uint32_t uid) { return known_users().find(uid).name; }

std::uint32_t group_of(std::uint32_t uid) { return known_users().find(uid).gid; }

bool is_user_settled(std::uint32_t uid) { return known_users().is_settled(uid); }

void doubt_users() { known_users().doubt(); }

Result<std::uint32_t> look_up_group(std::uint32_t uid) {
  const auto account = find_account(uid);
  if (!account) return std::unexpected(account.error());
  if (!*account) return failed(cat("nobody knows the user ", uid, ", so his group is not known."));
  return (*account)->gid;
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
