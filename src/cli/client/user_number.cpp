// See user_number.hpp.
#include "cli/client/user_number.hpp"

#include <pwd.h>

#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"

namespace tangram::cli {

Result<std::uint32_t> uid_of(const std::string& user) {
  if (const auto number = parse_job_id(user); number && *number <= UINT32_MAX) {
    return static_cast<std::uint32_t>(*number);
  }
  const passwd* entry = ::getpwnam(user.c_str());  // NOLINT(concurrency-mt-unsafe): one thread
  if (entry == nullptr) {
    return not_found(cat("--user: user ", tangram::quoted(user), ": not found on this machine."));
  }
  return entry->pw_uid;
}

}  // namespace tangram::cli
