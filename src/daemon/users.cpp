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
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace tangram::daemon {
namespace {

constexpr std::uint32_t kNobodysGroup = 0xFFFF'FFFFU;  // no group has this number

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
    bool is_queued = false;          // or being looked up
    bool is_doubted = false;         // since he was asked for
    bool is_answered = false;        // the lookup has said who he is, or that he is nobody
    bool is_there = false;           // and that was somebody
    std::uint64_t used = 0;          // when he was asked for last
  };

  explicit Parts(Lookup the_lookup) : lookup(std::move(the_lookup)) {}

  static Account unknown(std::uint32_t uid) { return {std::to_string(uid), {}, {}, kNobodysGroup}; }

  Known& known_as(std::uint32_t uid) {
    auto at = known.find(uid);
    if (at == known.end()) {
      if (known.size() >= most) make_room();
      at = known.emplace(uid, Known{.account = unknown(uid)}).first;
    }
    at->second.used = ++uses;
    return at->second;
  }

  // Many at once, so that it is seldom done. Who is dropped is looked up again when he comes back.
  void make_room() {
    constexpr std::size_t kAtOnce = kMostKnown / 10;
    std::set<std::uint32_t> kept = keep ? keep() : std::set<std::uint32_t>();
    kept.insert({0, geteuid()});
    std::vector<std::tuple<bool, std::uint64_t, std::uint32_t>> others;
    for (const auto& [uid, user] : known) {
      if (!user.is_queued && !kept.contains(uid))
        others.emplace_back(user.is_there, user.used, uid);
    }
    std::ranges::sort(others);
    if (others.size() > kAtOnce) others.resize(kAtOnce);
    for (const auto& [is_there, used, uid] : others) known.erase(uid);
    most = std::max(kMostKnown, known.size() + kAtOnce);
  }

  // Whether somebody must go and look up who is in the queue. Who was known before comes first;
  // for a newcomer there may be no room in it, and he tries again when he is asked for again.
  bool ask(Known& user, std::uint32_t uid, Time now) {
    if (!user.is_queued) {
      if (now < user.until) return false;
      if (!user.asked || now - *user.asked >= kUnknownFor) user.asked = now;
      if (!user.is_there && queue.size() >= kMostWaiting) return false;
      user.is_queued = true;
      user.is_doubted = false;
      queue.insert(user.is_there ? queue.begin() : queue.end(), uid);
    }
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
    user.is_queued = false;
    if (!found) return;
    user.account = is_there ? **found : unknown(uid);
    user.is_answered = true;
    user.is_there = is_there;
  }

  std::mutex mutex;  // of all below
  std::map<std::uint32_t, Known> known;
  std::size_t most = kMostKnown;
  std::uint64_t uses = 0;
  std::deque<std::uint32_t> queue;
  bool is_looking = false;
  Keep keep;
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

// What is known of him; if that is not enough, he is being looked up.
template <class Parts>
auto& look(const std::shared_ptr<Parts>& parts, std::uint32_t uid, KnownUsers::Time now) {
  auto& user = parts->known_as(uid);
  if (parts->ask(user, uid, now)) begin_looking(parts);
  return user;
}

}  // namespace

KnownUsers::KnownUsers(Lookup lookup) : parts_(std::make_shared<Parts>(std::move(lookup))) {}

Account KnownUsers::find(std::uint32_t uid, Time now) {
  const std::lock_guard lock(parts_->mutex);
  return look(parts_, uid, now).account;
}

bool KnownUsers::is_settled(std::uint32_t uid, Time now) {
  const std::lock_guard lock(parts_->mutex);
  const Parts::Known& user = look(parts_, uid, now);
  return !user.asked || now - *user.asked >= kPatience;
}

bool KnownUsers::is_known(std::uint32_t uid, Time now) {
  const std::lock_guard lock(parts_->mutex);
  return look(parts_, uid, now).is_answered;
}

void KnownUsers::keep(Keep whom) {
  const std::lock_guard lock(parts_->mutex);
  parts_->keep = std::move(whom);
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

bool is_user_known(std::uint32_t uid) { return known_users().is_known(uid); }

void keep_users(Keep whom) { known_users().keep(std::move(whom)); }

void doubt_users() { known_users().doubt(); }

Result<Identity> look_up_identity(std::uint32_t uid) {
  auto account = find_account(uid);
  if (!account) return std::unexpected(account.error());
  Identity who{.uid = uid, .account = *std::move(account), .groups = {}};
  if (who.account && geteuid() == 0) who.groups = groups_of(*who.account);
  return who;
}

Result<void> add_user(api::RunSpec& spec, const Identity& who) {
  auto& environment = spec.environment;
  if (who.account) {
    environment.try_emplace("HOME", who.account->home);
    environment.try_emplace("USER", who.account->name);
    environment.try_emplace("LOGNAME", who.account->name);
    environment.try_emplace("SHELL", who.account->shell);
    if (spec.directory.empty()) spec.directory = who.account->home;
  }
  environment.try_emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
  if (spec.directory.empty()) spec.directory = "/";
  if (geteuid() != 0) return {};
  if (!who.account) {
    return failed(cat("nobody knows the user ", who.uid, ", so the job's groups are not known."));
  }
  spec.user = api::RunSpec::User{.uid = who.uid, .gid = who.account->gid, .groups = who.groups};
  return {};
}

}  // namespace tangram::daemon
