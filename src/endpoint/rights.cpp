// See rights.hpp.
#include "endpoint/rights.hpp"

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

namespace tangram::endpoint {
namespace {

std::string why() { return std::generic_category().message(errno); }

bool drop_capabilities() {
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const __user_cap_data_struct none[2]{};
  return ::syscall(SYS_capset, &header, none) == 0;
}

Result<void> become(const api::EndpointSpec::User& user) {
  const gid_t group = user.gid;
  if (::setgroups(1, &group) != 0 || ::setresgid(user.gid, user.gid, user.gid) != 0 ||
      ::setresuid(user.uid, user.uid, user.uid) != 0) {
    return failed(cat("cannot become uid ", user.uid, " with gid ", user.gid, ": ", why(), "."));
  }
  return {};
}

constexpr std::uint32_t kNobody = 65'534;

// Not in a namespace of one user, whose root is no more than he who made it.
bool is_there_nobody() {
  std::ifstream map("/proc/self/uid_map");
  std::uint64_t first = 0;
  std::uint64_t outside = 0;
  std::uint64_t count = 0;
  while (map >> first >> outside >> count) {
    if (first <= kNobody && kNobody - first < count) return true;
  }
  return false;
}

// Also root's services are relayed by nobody: whoever takes the endpoint over would be root.
api::EndpointSpec::User relayed_by(const api::EndpointSpec::User& user) {
  if (user.uid != 0 || !is_there_nobody()) return user;
  return {.uid = kNobody, .gid = kNobody};
}

}  // namespace

Result<void> give_up_rights(const std::optional<api::EndpointSpec::User>& user) {
  for (int capability = 0; capability <= CAP_LAST_CAP; ++capability) {
    ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);  // root's to do; others have none to lose
  }
  if (user && ::geteuid() == 0) {
    if (auto done = become(relayed_by(*user)); !done) return done;
  }
  if (!drop_capabilities() || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return failed(cat("cannot give up the endpoint's privileges: ", why(), "."));
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
