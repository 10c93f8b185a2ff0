// See descriptors.hpp.
#include "daemon/descriptors.hpp"

#include <algorithm>
#include <sys/resource.h>

namespace tangram::daemon {
namespace {

constexpr rlim_t kEnough = 65'536;  // as packaging/tangramd.service.in has it

std::optional<std::uint64_t> bound(rlim_t limit) {
  if (limit == RLIM_INFINITY) return std::nullopt;
  return limit;
}

}  // namespace

Descriptors raise_descriptors() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return {};
  Descriptors result{
      .most = files.rlim_cur,
      .given = api::ResourceLimit{.soft = bound(files.rlim_cur), .hard = bound(files.rlim_max)}};
  const rlim_t wanted = std::min(files.rlim_max, kEnough);
  if (files.rlim_cur >= wanted) return result;
  files.rlim_cur = wanted;
  if (::setrlimit(RLIMIT_NOFILE, &files) == 0) result.most = wanted;
  return result;
}

}  // namespace tangram::daemon
