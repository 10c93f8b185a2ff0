// Resource usage of this process, from the kernel. Values that cannot be read are 0.
#pragma once

#include <cstdint>

namespace tangram::daemon {

struct ProcessUsage {
  std::uint64_t resident_bytes = 0;
  double cpu_seconds = 0;
  std::uint64_t open_fds = 0;
};
[[nodiscard]] ProcessUsage process_usage();

}  // namespace tangram::daemon
