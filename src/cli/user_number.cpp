// See user_number.hpp.
#include "cli/user_number.hpp"

#include <pwd.h>

#include "base/text.hpp"
#include "cli/daemon_link.hpp"

namespace tangram::cli {

Result<std::uint32_t> uid_of(const std::string& user) {
  if (const auto number = number_in(user); number && *number <= UINT32_MAX) {
    return static_cast<std::uint32_t>(*number);
  }
  const passwd* entry = ::getpwnam(user.c_str());  // NOLINT(concurrency-mt-unsafe): one thread
  if (entry == nullptr) {
    return not_found(cat("--user: there is no user ", tangram::quoted(user), " here."));
  }
  return entry->pw_uid;
}

}  // namespace tangram::cli
