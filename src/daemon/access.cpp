// See access.hpp.
#include "daemon/access.hpp"

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
#include "daemon/problems.hpp"
#include "daemon/users.hpp"

namespace tangram::daemon {
namespace {

bool is_masters(std::uint32_t uid) { return uid == 0 || uid == geteuid(); }

// "; you are ada, with a token of the scope write."
std::string you_are(const http::Caller& caller) {
  return cat("; you are ", user_name(caller.uid),
             caller.scope == api::Scope::kAdmin
                 ? "."
                 : cat(", with a token of the scope ", api::name_of(caller.scope), "."));
}

std::unexpected<Error> cannot_look_up(std::string_view what, std::string_view name, int error) {
  return failed(cat("cannot look up the ", what, " ", tangram::quoted(name), ": ",
                    std::generic_category().message(error)));
}

// Nothing if there is no such user.
Result<std::optional<std::uint32_t>> number_of(const char* user) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> text(64U << 10U);
  const int error = getpwnam_r(user, &entry, text.data(), text.size(), &found);
  if (error != 0) return cannot_look_up("user", user, error);
  if (found == nullptr) return std::nullopt;
  return found->pw_uid;
}

Result<std::optional<Access::Group>> look_up(const std::string& name) {
  group entry{};
  group* found = nullptr;
  std::vector<char> text(1U << 20U);  // a group may have many members
  const int error = getgrnam_r(name.c_str(), &entry, text.data(), text.size(), &found);
  if (error != 0) return cannot_look_up("group", name, error);
  if (found == nullptr) return std::nullopt;
  Access::Group group{.gid = found->gr_gid, .members = {}};
  for (char** member = found->gr_mem; *member != nullptr; ++member) {
    const auto uid = number_of(*member);
    if (!uid) return std::unexpected(uid.error());
    if (*uid) group.members.insert(**uid);
  }
  return group;
}

}  // namespace

struct Access::Question {
  std::mutex mutex;
  std::condition_variable answered;
  std::optional<Result<std::optional<Group>>> answer;
};

Access::Access(std::string admins_group, Lookup lookup)
    : lookup_(lookup ? std::move(lookup) : look_up), group_name_(std::move(admins_group)) {
  reload();
  constexpr auto kPatienceAtTheStart = std::chrono::seconds(5);
  if (!settle(kPatienceAtTheStart)) {
    spdlog::warn("the group {} is still being looked up: until then it makes nobody an admin",
                 group_name_);
  }
}

void Access::set_group(std::string admins_group) {
  if (admins_group != group_name_) {
    group_.reset();
    question_.reset();  // it was about another one
  }
  group_name_ = std::move(admins_group);
  reload();
}

void Access::reload() {
  doubt_users();
  take_answer();
  if (group_name_.empty()) {
    trouble_.clear();
    group_.reset();
    return;
  }
  asks_again_ = question_ != nullptr;  // one that hangs is enough
  if (!asks_again_) ask();
}

void Access::try_again() {
  take_answer();
  if (!trouble_.empty() && !question_) ask();
}

// Nobody waits for the thread, not even at the end of the program.
void Access::ask() const {
  question_ = std::make_shared<Question>();
  try {
    std::thread([question = question_, lookup = lookup_, name = group_name_] {
      auto found = lookup(name);
      const std::lock_guard lock(question->mutex);
      question->answer = std::move(found);
      question->answered.notify_all();
    }).detach();
  } catch (const std::system_error& error) {
    question_.reset();
    report(cat("there is no thread to look up the group ", group_name_, ": ", error.what()));
  }
}

// Said once, however often it is tried again.
void Access::report(std::string trouble) const {
  if (trouble != trouble_) {
    spdlog::warn("{}; {}. It is tried again every half minute.", trouble,
                 group_ ? "the admins stay who they were" : "it makes nobody an admin");
  }
  trouble_ = std::move(trouble);
}

bool Access::settle(std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (const auto question = question_) {
    std::unique_lock lock(question->mutex);
    const auto is_answered = [&] { return question->answer.has_value(); };
    if (!question->answered.wait_until(lock, until, is_answered)) return false;
    lock.unlock();
    take_answer();
  }
  return true;
}

// The answer is taken over by whoever wants to know first.
void Access::take_answer() const {
  if (!question_) return;
  std::unique_lock lock(question_->mutex);
  if (!question_->answer) return;
  const auto found = std::move(*question_->answer);
  lock.unlock();
  question_.reset();
  if (found) {
    if (!*found) spdlog::warn("there is no group {}: it makes nobody an admin", group_name_);
    if (!trouble_.empty()) spdlog::info("the group {} could be looked up", group_name_);
    trouble_.clear();
    group_ = *found;
  } else {
    report(found.error().message);
  }
  if (std::exchange(asks_again_, false)) ask();
}

bool Access::is_admin(const http::Caller& caller) const {
  if (caller.scope != api::Scope::kAdmin) return false;
  if (is_masters(caller.uid)) return true;
  take_answer();
  return group_ && (caller.gid == group_->gid || group_->members.contains(caller.uid));
}

bool Access::is_master(const http::Caller& caller) {
  return caller.scope == api::Scope::kAdmin && is_masters(caller.uid);
}

bool Access::may_read(const http::Caller& caller, std::uint32_t owner) const {
  return caller.uid == owner || is_admin(caller);
}

bool Access::may_control(const http::Caller& caller, std::uint32_t owner) const {
  return caller.scope != api::Scope::kRead && may_read(caller, owner);
}

// A daemon that is not root could run the jobs of others only as itself.
http::Answer<void> Access::admit(const http::Caller& caller) const {
  if (geteuid() == 0 || is_masters(caller.uid)) return {};
  return std::unexpected(forbidden(
      cat("this tangramd runs as ", user_name(geteuid()), " and serves that user only; you are ",
          user_name(caller.uid), ". Start one as root to serve everybody.")));
}

http::Answer<void> Access::admit_change(const http::Caller& caller) const {
  if (auto admitted = admit(caller); !admitted) return admitted;
  if (caller.scope != api::Scope::kRead) return {};
  return std::unexpected(
      forbidden("this token may only look: its scope is read. Use one with the scope write."));
}

http::Answer<void> Access::admit_submission(const http::Caller& caller) const {
  if (auto admitted = admit_change(caller); !admitted || !only_admins_submit_) return admitted;
  return require_admin(caller,
                       "submit jobs or take leases on this node (access.submit is \"admins\")");
}

http::Answer<void> Access::require_admin(const http::Caller& caller, std::string_view deed) const {
  if (auto admitted = admit_change(caller); !admitted) return admitted;
  if (is_admin(caller)) return {};
  const std::string who =
      group_name_.empty() ? "root" : cat("root and members of the group ", group_name_);
  return std::unexpected(forbidden(cat("only ", who, " may ", deed, you_are(caller))));
}

http::Answer<void> Access::require_master(const http::Caller& caller, std::string_view deed) const {
  if (auto admitted = admit_change(caller); !admitted) return admitted;
  if (is_master(caller)) return {};
  const std::string who = geteuid() == 0 ? "root" : cat("root and ", user_name(geteuid()));
  return std::unexpected(forbidden(cat("only ", who, " may ", deed, you_are(caller))));
}

http::Answer<void> Access::require_control(const http::Caller& caller, std::uint32_t owner,
                                           std::string_view what, std::string_view deed) const {
  if (auto admitted = admit_change(caller); !admitted) return admitted;
  return require_read(caller, owner, what, deed);
}

http::Answer<void> Access::require_taker(const http::Caller& caller, std::uint32_t taker,
                                         std::uint32_t owner, std::string_view what,
                                         std::string_view deed) const {
  if (taker == owner) return require_control(caller, owner, what, deed);
  if (auto admitted = admit_change(caller); !admitted) return admitted;
  if (caller.uid == taker || is_admin(caller)) return {};
  return std::unexpected(
      forbidden(cat(what, " was taken by ", user_name(taker), " for ", user_name(owner), ": only ",
                    user_name(taker), " and admins may ", deed, " it.")));
}

http::Answer<void> Access::require_read(const http::Caller& caller, std::uint32_t owner,
                                        std::string_view what, std::string_view deed) const {
  if (auto admitted = admit(caller); !admitted) return admitted;
  if (may_read(caller, owner)) return {};
  return std::unexpected(forbidden(
      cat(what, " is ", user_name(owner), "'s: only its owner and admins may ", deed, " it.")));
}

}  // namespace tangram::daemon
