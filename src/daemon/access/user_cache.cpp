// See user_cache.hpp.
#include "daemon/access/user_cache.hpp"

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
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "base/text.hpp"

namespace tangram::daemon {
namespace {

constexpr std::uint32_t kNoGroup = 0xFFFF'FFFFU;  // not a valid gid

constexpr auto kRetryInterval = std::chrono::seconds(30);

// The names of list_groups(). Thread-safe.
class GroupList {
 public:
  // False: they are the same as before.
  bool set(std::vector<std::string> names) {
    const std::lock_guard lock(mutex_);
    if (names == names_) return false;
    names_ = std::move(names);
    return true;
  }
  std::vector<std::string> names() {
    const std::lock_guard lock(mutex_);
    return names_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> names_;
};

GroupList& group_list() {
  static GroupList list;
  return list;
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

// The gid of a group; nullopt: there is none, or it cannot be looked up.
std::optional<std::uint32_t> gid_of(const std::string& name) {
  std::vector<char> buffer(1U << 20U);  // a group may have many members
  group entry{};
  group* found = nullptr;
  const int error = getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (error == 0 && found != nullptr) return found->gr_gid;
  spdlog::warn("access.groups.{}: {}: its limits do not apply", name,
               error == 0 ? "no such group" : std::strerror(error));
  return std::nullopt;
}

std::vector<std::string> find_listed_groups(const Account& account) {
  std::vector<std::string> found;
  const std::vector<std::string> names = group_list().names();
  if (names.empty()) return found;
  const std::vector<std::uint32_t> gids = groups_of(account);
  for (const std::string& name : names) {
    const auto gid = gid_of(name);
    if (gid && std::ranges::find(gids, *gid) != gids.end()) found.push_back(name);
  }
  return found;
}

Result<std::optional<Account>> find_account(std::uint32_t uid) {
  std::vector<char> buffer(64U << 10U);
  passwd entry{};
  passwd* found = nullptr;
  const int error = getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
  if (error != 0) {
    return failed(
        cat("cannot look up uid ", uid, " in the user database: ", std::strerror(error), "."));
  }
  if (found == nullptr) return std::optional<Account>();
  Account account{
      .name = entry.pw_name, .home = entry.pw_dir, .shell = entry.pw_shell, .gid = entry.pw_gid};
  account.listed_groups = find_listed_groups(account);
  return std::optional(std::move(account));
}

UserCache& user_cache() {
  static UserCache cache(find_account);
  return cache;
}

}  // namespace

struct UserCache::Parts {
  struct Entry {
    Account account;
    Time until = Time::min();               // the account is looked up again from then on
    std::optional<Time> requested_at = {};  // set while a lookup is pending
    bool is_queued = false;                 // or being looked up
    bool is_invalidated = false;            // since it was queued
    bool is_resolved = false;               // a lookup has returned an account or "no such user"
    bool exists = false;                    // the last such lookup returned an account
    std::uint64_t last_use = 0;
  };

  explicit Parts(Lookup the_lookup) : lookup(std::move(the_lookup)) {}

  static Account unknown(std::uint32_t uid) { return {std::to_string(uid), {}, {}, kNoGroup}; }

  Entry& entry_of(std::uint32_t uid) {
    auto at = entries.find(uid);
    if (at == entries.end()) {
      if (entries.size() >= max_entries) evict();
      at = entries.emplace(uid, Entry{.account = unknown(uid)}).first;
    }
    at->second.last_use = ++use_count;
    return at->second;
  }

  // Drops many entries at once, so that this is rare: unknown users first, then the least recently
  // used.
  void evict() {
    constexpr std::size_t kEvictedAtOnce = kMaxKnown / 10;
    std::set<std::uint32_t> pinned = pinned_users ? pinned_users() : std::set<std::uint32_t>();
    pinned.insert({0, geteuid()});
    std::vector<std::tuple<bool, std::uint64_t, std::uint32_t>> others;
    for (const auto& [uid, entry] : entries) {
      if (!entry.is_queued && !pinned.contains(uid))
        others.emplace_back(entry.exists, entry.last_use, uid);
    }
    std::ranges::sort(others);
    if (others.size() > kEvictedAtOnce) others.resize(kEvictedAtOnce);
    for (const auto& [exists, last_use, uid] : others) entries.erase(uid);
    max_entries = std::max(kMaxKnown, entries.size() + kEvictedAtOnce);
  }

  // Queues a lookup if the entry needs one. True: the caller must start the thread. Users that were
  // known before go first; if the queue is full, a new one is queued at its next use.
  bool enqueue(Entry& entry, std::uint32_t uid, Time now) {
    if (!entry.is_queued) {
      if (now < entry.until) return false;
      if (!entry.requested_at || now - *entry.requested_at >= kRetryInterval)
        entry.requested_at = now;
      if (!entry.exists && queue.size() >= kMaxQueued) return false;
      entry.is_queued = true;
      entry.is_invalidated = false;
      queue.insert(entry.exists ? queue.begin() : queue.end(), uid);
    }
    return !std::exchange(is_running, true);
  }
  void set_result(std::uint32_t uid, const Result<std::optional<Account>>& found) {
    const auto at = entries.find(uid);
    if (at == entries.end() || !at->second.requested_at) return;
    Entry& entry = at->second;
    const bool exists = found && *found;
    entry.until = exists ? Time::max() : *entry.requested_at + kRetryInterval;
    if (entry.is_invalidated) entry.until = Time::min();
    entry.requested_at.reset();
    entry.is_queued = false;
    if (!found) return;
    entry.account = exists ? **found : unknown(uid);
    entry.is_resolved = true;
    entry.exists = exists;
  }

  std::mutex mutex;  // guards all members below
  std::map<std::uint32_t, Entry> entries;
  std::size_t max_entries = kMaxKnown;
  std::uint64_t use_count = 0;
  std::deque<std::uint32_t> queue;
  bool is_running = false;
  PinnedUsers pinned_users;
  const Lookup lookup;
};

namespace {

// Runs until the queue is empty. Lookups may hang, so they run without the mutex.
template <class Parts>
void run_lookups(const std::shared_ptr<Parts>& parts) {
  std::unique_lock lock(parts->mutex);
  while (!parts->queue.empty()) {
    const std::uint32_t uid = parts->queue.front();
    parts->queue.pop_front();
    lock.unlock();
    const auto found = parts->lookup(uid);
    lock.lock();
    parts->set_result(uid, found);
  }
  parts->is_running = false;
}

// The thread is detached: a lookup that hangs must not delay the end of the program.
template <class Parts>
void start_thread(const std::shared_ptr<Parts>& parts) {
  try {
    std::thread([parts] { run_lookups(parts); }).detach();
  } catch (const std::system_error&) {
    parts->is_running = false;  // no thread available now; the next use retries
  }
}

// The user's entry; starts a lookup if it needs one.
template <class Parts>
auto& look_up(const std::shared_ptr<Parts>& parts, std::uint32_t uid, UserCache::Time now) {
  auto& entry = parts->entry_of(uid);
  if (parts->enqueue(entry, uid, now)) start_thread(parts);
  return entry;
}

}  // namespace

UserCache::UserCache(Lookup lookup) : parts_(std::make_shared<Parts>(std::move(lookup))) {}

Account UserCache::find(std::uint32_t uid, Time now) {
  const std::lock_guard lock(parts_->mutex);
  return look_up(parts_, uid, now).account;
}

bool UserCache::identity_known(std::uint32_t uid, Time now) {
  const std::lock_guard lock(parts_->mutex);
  const Parts::Entry& entry = look_up(parts_, uid, now);
  return !entry.requested_at || now - *entry.requested_at >= kLookupTimeout;
}

bool UserCache::is_resolved(std::uint32_t uid, Time now) {
  const std::lock_guard lock(parts_->mutex);
  return look_up(parts_, uid, now).is_resolved;
}

void UserCache::pin(PinnedUsers users) {
  const std::lock_guard lock(parts_->mutex);
  parts_->pinned_users = std::move(users);
}

void UserCache::invalidate() {
  const std::lock_guard lock(parts_->mutex);
  for (auto& [uid, entry] : parts_->entries) {
    entry.until = Time::min();
    entry.is_invalidated = true;
  }
}

std::string user_name(std::uint32_t uid) { return user_cache().find(uid).name; }

std::uint32_t group_of(std::uint32_t uid) { return user_cache().find(uid).gid; }

void list_groups(std::vector<std::string> names) {
  if (group_list().set(std::move(names))) invalidate_users();
}

std::vector<std::string> listed_groups_of(std::uint32_t uid) {
  return user_cache().find(uid).listed_groups;
}

bool user_identity_known(std::uint32_t uid) { return user_cache().identity_known(uid); }

bool is_user_resolved(std::uint32_t uid) { return user_cache().is_resolved(uid); }

void pin_users(PinnedUsers users) { user_cache().pin(std::move(users)); }

void invalidate_users() { user_cache().invalidate(); }

Result<Identity> look_up_identity(std::uint32_t uid) {
  auto account = find_account(uid);
  if (!account) return std::unexpected(account.error());
  Identity identity{.uid = uid, .account = *std::move(account), .groups = {}};
  if (identity.account && geteuid() == 0) identity.groups = groups_of(*identity.account);
  return identity;
}

Result<void> apply_identity(api::RunSpec& spec, const Identity& identity) {
  auto& environment = spec.environment;
  if (identity.account) {
    environment.try_emplace("HOME", identity.account->home);
    environment.try_emplace("USER", identity.account->name);
    environment.try_emplace("LOGNAME", identity.account->name);
    environment.try_emplace("SHELL", identity.account->shell);
    if (spec.directory.empty()) spec.directory = identity.account->home;
  }
  environment.try_emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
  if (spec.directory.empty()) spec.directory = "/";
  if (geteuid() != 0) return {};
  if (!identity.account) {
    return failed(cat("user ", identity.uid, " does not exist, so the job's groups are unknown."));
  }
  spec.user = api::RunSpec::User{
      .uid = identity.uid, .gid = identity.account->gid, .groups = identity.groups};
  return {};
}

}  // namespace tangram::daemon
