// See process_usage.hpp.
#include "daemon/service/process_usage.hpp"

#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

namespace tangram::daemon {

ProcessUsage process_usage() {
  ProcessUsage usage;
  std::ifstream pages("/proc/self/statm");
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  if (pages >> size >> resident) {
    usage.resident_bytes = resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  }
  rusage used{};
  if (getrusage(RUSAGE_SELF, &used) == 0) {
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    usage.cpu_seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
  }
  std::error_code ignored;
  for ([[maybe_unused]] const auto& each :
       std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    ++usage.open_fds;
  }
  return usage;
}

}  // namespace tangram::daemon
