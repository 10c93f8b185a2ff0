// See privileges.hpp.
#include "endpoint/process/privileges.hpp"

#include <cerrno>
#include <fstream>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

#include "base/text.hpp"
#include "os/failure.hpp"
#include "os/session_keyring.hpp"

namespace tangram::endpoint {
namespace {

std::string last_error() { return std::generic_category().message(errno); }

bool drop_capabilities() {
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const __user_cap_data_struct none[2]{};
  return ::syscall(SYS_capset, &header, none) == 0;
}

Result<void> switch_user(const api::EndpointSpec::User& user) {
  const gid_t group = user.gid;
  if (::setgroups(1, &group) != 0 || ::setresgid(user.gid, user.gid, user.gid) != 0 ||
      ::setresuid(user.uid, user.uid, user.uid) != 0) {
    return failed(cat("cannot switch to uid ", user.uid, ", gid ", user.gid, ": ", last_error()));
  }
  return {};
}

constexpr std::uint32_t kNobody = 65'534;

// False in a user namespace that maps a single user: its root has no more rights than its creator.
bool can_become_nobody() {
  std::ifstream map("/proc/self/uid_map");
  std::uint64_t first = 0;
  std::uint64_t outside = 0;
  std::uint64_t count = 0;
  while (map >> first >> outside >> count) {
    if (first <= kNobody && kNobody - first < count) return true;
  }
  return false;
}

// Services of root are relayed by "nobody", so that taking over the endpoint does not give root.
api::EndpointSpec::User relay_user(const api::EndpointSpec::User& user) {
  if (user.uid != 0 || !can_become_nobody()) return user;
  return {.uid = kNobody, .gid = kNobody};
}

Result<void> leave_session_keyring(bool changes_user, Log& log) {
  const int error = os::join_new_session_keyring();
  if (error == 0) return {};
  if (!os::may_keep_session_keyring(error, changes_user)) {
    return failed(cat("cannot create a session keyring for the endpoint: ", os::errno_text(error)));
  }
  log.write(cat("keeps the daemon's session keyring: ", os::errno_text(error)));
  return {};
}

}  // namespace

Result<void> drop_privileges(const std::optional<api::EndpointSpec::User>& user, Log& log) {
  const bool changes_user = user && ::geteuid() == 0;
  if (auto done = leave_session_keyring(changes_user, log); !done) return done;
  for (int capability = 0; capability <= CAP_LAST_CAP; ++capability) {
    ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);  // fails without CAP_SETPCAP: nothing to drop
  }
  if (changes_user) {
    if (auto done = switch_user(relay_user(*user)); !done) return done;
  }
  if (!drop_capabilities() || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return failed(cat("cannot drop the endpoint's privileges: ", last_error()));
  }
  return {};
}

std::uint64_t raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1'024;
  const rlimit wanted{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
  return ::setrlimit(RLIMIT_NOFILE, &wanted) == 0 ? wanted.rlim_cur : limit.rlim_cur;
}

}  // namespace tangram::endpoint
