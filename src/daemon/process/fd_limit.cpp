// See fd_limit.hpp.
#include "daemon/process/fd_limit.hpp"

#include <algorithm>
#include <sys/resource.h>

namespace tangram::daemon {
namespace {

constexpr rlim_t kWantedFds = 65'536;  // as in packaging/tangramd.service.in

std::optional<std::uint64_t> limit_of(rlim_t limit) {
  if (limit == RLIM_INFINITY) return std::nullopt;
  return limit;
}

}  // namespace

FdLimit raise_fd_limit() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return {};
  FdLimit result{.current = files.rlim_cur,
                 .inherited = api::ResourceLimit{.soft = limit_of(files.rlim_cur),
                                                 .hard = limit_of(files.rlim_max)}};
  const rlim_t target = std::min(files.rlim_max, kWantedFds);
  if (files.rlim_cur >= target) return result;
  files.rlim_cur = target;
  if (::setrlimit(RLIMIT_NOFILE, &files) == 0) result.current = target;
  return result;
}

}  // namespace tangram::daemon
