// See access.hpp.
#include "daemon/access.hpp"

#include <grp.h>
#include <pwd.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/problems.hpp"
#include "daemon/users.hpp"

namespace tangram::daemon {
namespace {

bool is_master(std::uint32_t uid) { return uid == 0 || uid == geteuid(); }

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

Access::Access(std::string admins_group, Lookup lookup)
    : lookup_(lookup ? std::move(lookup) : look_up), group_name_(std::move(admins_group)) {
  reload();
}

void Access::set_group(std::string admins_group) {
  if (admins_group != group_name_) group_.reset();
  group_name_ = std::move(admins_group);
  reload();
}

void Access::reload() {
  doubt_users();
  if (group_name_.empty()) return group_.reset();
  auto found = lookup_(group_name_);
  if (!found) {
    spdlog::warn("{}; {}. Tried again at the next reload.", found.error().message,
                 group_ ? "the admins stay who they were" : "it makes nobody an admin");
    return;
  }
  if (!*found) spdlog::warn("there is no group {}: it makes nobody an admin", group_name_);
  group_ = std::move(*found);
}

bool Access::is_admin(const http::Caller& caller) const {
  if (caller.scope != api::Scope::kAdmin) return false;
  if (is_master(caller.uid)) return true;
  return group_ && (caller.gid == group_->gid || group_->members.contains(caller.uid));
}

bool Access::may_read(const http::Caller& caller, std::uint32_t owner) const {
  return caller.uid == owner || is_admin(caller);
}

bool Access::may_control(const http::Caller& caller, std::uint32_t owner) const {
  return caller.scope != api::Scope::kRead && may_read(caller, owner);
}

// A daemon that is not root could run the jobs of others only as itself.
http::Answer<void> Access::admit(const http::Caller& caller) const {
  if (geteuid() == 0 || is_master(caller.uid)) return {};
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

http::Answer<void> Access::require_admin(const http::Caller& caller, std::string_view deed) const {
  if (auto admitted = admit_change(caller); !admitted) return admitted;
  if (is_admin(caller)) return {};
  const std::string who =
      group_name_.empty() ? "root" : cat("root and members of the group ", group_name_);
  return std::unexpected(
      forbidden(cat("only ", who, " may ", deed, "; you are ", user_name(caller.uid),
                    caller.scope == api::Scope::kAdmin
                        ? "."
                        : cat(", with a token of the scope ", api::name_of(caller.scope), "."))));
}

http::Answer<void> Access::require_control(const http::Caller& caller, std::uint32_t owner,
                                           std::string_view what, std::string_view deed) const {
  if (auto admitted = admit_change(caller); !admitted) return admitted;
  return require_read(caller, owner, what, deed);
}

http::Answer<void> Access::require_read(const http::Caller& caller, std::uint32_t owner,
                                        std::string_view what, std::string_view deed) const {
  if (auto admitted = admit(caller); !admitted) return admitted;
  if (may_read(caller, owner)) return {};
  return std::unexpected(forbidden(
      cat(what, " is ", user_name(owner), "'s: only its owner and admins may ", deed, " it.")));
}

}  // namespace tangram::daemon
