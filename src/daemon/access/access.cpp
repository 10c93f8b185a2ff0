// See access.hpp.
#include "daemon/access/access.hpp"

#include <condition_variable>
#include <grp.h>
#include <mutex>
#include <pwd.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/access/problems.hpp"
#include "daemon/access/user_cache.hpp"

namespace tangram::daemon {
namespace {

bool is_superuser_uid(std::uint32_t uid) { return uid == 0 || uid == geteuid(); }

// "; you are ada, with a token of scope write."
std::string caller_suffix(const http::Caller& caller) {
  return cat("; you are ", user_name(caller.uid),
             caller.scope == api::Scope::kAdmin
                 ? "."
                 : cat(", with a token of scope ", api::name_of(caller.scope), "."));
}

std::unexpected<Error> cannot_look_up(std::string_view kind, std::string_view name, int error) {
  return failed(cat("cannot look up ", kind, " ", tangram::quoted(name), ": ",
                    std::generic_category().message(error)));
}

// nullopt: no such user.
Result<std::optional<std::uint32_t>> uid_of(const char* user) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> text(64U << 10U);
  const int error = getpwnam_r(user, &entry, text.data(), text.size(), &found);
  if (error != 0) return cannot_look_up("user", user, error);
  if (found == nullptr) return std::nullopt;
  return found->pw_uid;
}

Result<std::optional<Access::Group>> look_up_group(const std::string& name) {
  group entry{};
  group* found = nullptr;
  std::vector<char> text(1U << 20U);  // a group may have many members
  const int error = getgrnam_r(name.c_str(), &entry, text.data(), text.size(), &found);
  if (error != 0) return cannot_look_up("group", name, error);
  if (found == nullptr) return std::nullopt;
  Access::Group group{.gid = found->gr_gid, .members = {}};
  for (char** member = found->gr_mem; *member != nullptr; ++member) {
    const auto uid = uid_of(*member);
    if (!uid) return std::unexpected(uid.error());
    if (*uid) group.members.insert(**uid);
  }
  return group;
}

}  // namespace

struct Access::PendingLookup {
  std::mutex mutex;
  std::condition_variable finished;
  std::optional<Result<std::optional<Group>>> result;
};

Access::Access(std::string admins_group, Lookup lookup)
    : lookup_(lookup ? std::move(lookup) : look_up_group),
      group_name_(std::move(admins_group)),
      own_uid_(geteuid()) {
  reload();
  constexpr auto kStartupTimeout = std::chrono::seconds(5);
  if (!wait_for_lookup(kStartupTimeout)) {
    spdlog::warn("group {} not resolved yet; its members are not admins until it is", group_name_);
  }
}

void Access::set_group(std::string admins_group) {
  if (admins_group != group_name_) {
    group_.reset();
    pending_.reset();  // for the previous group
  }
  group_name_ = std::move(admins_group);
  reload();
}

void Access::reload() {
  invalidate_users();
  take_result();
  if (group_name_.empty()) {
    lookup_error_.clear();
    group_.reset();
    return;
  }
  lookup_again_ = pending_ != nullptr;  // at most one lookup thread may hang
  if (!lookup_again_) start_lookup();
}

void Access::retry_lookup() {
  take_result();
  if (!lookup_error_.empty() && !pending_) start_lookup();
}

// The thread is detached: a lookup that hangs must not delay the end of the program.
void Access::start_lookup() const {
  pending_ = std::make_shared<PendingLookup>();
  try {
    std::thread([pending = pending_, lookup = lookup_, name = group_name_] {
      auto found = lookup(name);
      const std::lock_guard lock(pending->mutex);
      pending->result = std::move(found);
      pending->finished.notify_all();
    }).detach();
  } catch (const std::system_error& error) {
    pending_.reset();
    report_error(cat("cannot start a thread to look up group ", group_name_, ": ", error.what()));
  }
}

// Logged once, however often the lookup is retried.
void Access::report_error(std::string error) const {
  if (error != lookup_error_) {
    spdlog::warn("{}; {}; retrying every 30 s", error,
                 group_ ? "its known members stay admins" : "its members are not admins");
  }
  lookup_error_ = std::move(error);
}

bool Access::wait_for_lookup(std::chrono::milliseconds timeout) {
  const auto until = std::chrono::steady_clock::now() + timeout;
  while (const auto pending = pending_) {
    std::unique_lock lock(pending->mutex);
    const auto is_answered = [&] { return pending->result.has_value(); };
    if (!pending->finished.wait_until(lock, until, is_answered)) return false;
    lock.unlock();
    take_result();
  }
  return true;
}

// Applies the result of a finished lookup.
void Access::take_result() const {
  if (!pending_) return;
  std::unique_lock lock(pending_->mutex);
  if (!pending_->result) return;
  const auto found = std::move(*pending_->result);
  lock.unlock();
  pending_.reset();
  if (found) {
    if (!*found) spdlog::warn("group {} does not exist: it has no admins", group_name_);
    if (!lookup_error_.empty()) spdlog::info("group {} resolved", group_name_);
    lookup_error_.clear();
    group_ = *found;
  } else {
    report_error(found.error().message);
  }
  if (std::exchange(lookup_again_, false)) start_lookup();
}

bool Access::is_admin(const http::Caller& caller) const {
  if (caller.scope != api::Scope::kAdmin) return false;
  if (is_superuser_uid(caller.uid)) return true;
  take_result();
  return group_ && (caller.gid == group_->gid || group_->members.contains(caller.uid));
}

bool Access::is_superuser(const http::Caller& caller) {
  return caller.scope == api::Scope::kAdmin && is_superuser_uid(caller.uid);
}

bool Access::may_read(const http::Caller& caller, std::uint32_t owner) const {
  return caller.uid == owner || is_admin(caller);
}

bool Access::may_control(const http::Caller& caller, std::uint32_t owner) const {
  return caller.scope != api::Scope::kRead && may_read(caller, owner);
}

// A daemon that is not root could run other users' jobs only as itself.
http::Answer<void> Access::admit(const http::Caller& caller) const {
  if (own_uid_ == 0 || is_superuser_uid(caller.uid)) return {};
  return std::unexpected(forbidden(cat("this tangramd serves only ", user_name(own_uid_),
                                       ", the user it runs as; you are ", user_name(caller.uid),
                                       ". Run tangramd as root to serve all users.")));
}

http::Answer<void> Access::admit_change(const http::Caller& caller) const {
  if (auto admitted = admit(caller); !admitted) return admitted;
  if (caller.scope != api::Scope::kRead) return {};
  return std::unexpected(forbidden("this token is read-only: use one of scope write."));
}

http::Answer<void> Access::admit_submission(const http::Caller& caller) const {
  if (auto admitted = admit_change(caller); !admitted || !only_admins_submit_) return admitted;
  return require_admin(caller,
                       "submit jobs or take leases on this node (access.submit is \"admins\")");
}

http::Answer<void> Access::require_admin(const http::Caller& caller,
                                         std::string_view action) const {
  if (auto admitted = admit_change(caller); !admitted) return admitted;
  if (is_admin(caller)) return {};
  const std::string allowed =
      group_name_.empty() ? "root" : cat("root and members of the group ", group_name_);
  return std::unexpected(forbidden(cat("only ", allowed, " may ", action, caller_suffix(caller))));
}

http::Answer<void> Access::require_superuser(const http::Caller& caller,
                                             std::string_view action) const {
  if (auto admitted = admit_change(caller); !admitted) return admitted;
  if (is_superuser(caller)) return {};
  const std::string allowed = own_uid_ == 0 ? "root" : cat("root and ", user_name(own_uid_));
  return std::unexpected(forbidden(cat("only ", allowed, " may ", action, caller_suffix(caller))));
}

http::Answer<void> Access::require_control(const http::Caller& caller, std::uint32_t owner,
                                           std::string_view subject,
                                           std::string_view action) const {
  if (auto admitted = admit_change(caller); !admitted) return admitted;
  return require_read(caller, owner, subject, action);
}

http::Answer<void> Access::require_taker(const http::Caller& caller, std::uint32_t taker,
                                         std::uint32_t owner, std::string_view subject,
                                         std::string_view action) const {
  if (taker == owner) return require_control(caller, owner, subject, action);
  if (auto admitted = admit_change(caller); !admitted) return admitted;
  if (caller.uid == taker || is_admin(caller)) return {};
  return std::unexpected(
      forbidden(cat(subject, " was taken by ", user_name(taker), " for ", user_name(owner),
                    ": only ", user_name(taker), " and admins may ", action, " it.")));
}

http::Answer<void> Access::require_read(const http::Caller& caller, std::uint32_t owner,
                                        std::string_view subject, std::string_view action) const {
  if (auto admitted = admit(caller); !admitted) return admitted;
  if (may_read(caller, owner)) return {};
  return std::unexpected(forbidden(cat(subject, " is ", user_name(owner),
                                       "'s: only its owner and admins may ", action, " it.")));
}

}  // namespace tangram::daemon
