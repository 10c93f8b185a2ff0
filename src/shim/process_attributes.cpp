// See process_attributes.hpp.
#include "shim/process_attributes.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <string_view>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.hpp"
#include "os/descriptor.hpp"
#include "shim/system.hpp"

namespace tangram::shim {
namespace {

int error_of(long result) { return result < 0 ? errno : 0; }

}  // namespace

int reset_oom_score() {
  const os::Descriptor file(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  return error_of(file.ok() ? ::write(file.get(), "0", 1) : -1);
}

int reset_scheduling_policy() {
  const sched_param none{};
  return error_of(::sched_setscheduler(0, SCHED_OTHER, &none));
}

int reset_niceness() { return error_of(::setpriority(PRIO_PROCESS, 0, 0)); }

int reset_cpu_affinity() {
  // As many bits as any kernel has CPUs; the kernel ignores those that do not exist.
  std::array<unsigned char, 8'192 / 8> all{};
  all.fill(0xff);
  return error_of(::syscall(SYS_sched_setaffinity, 0, all.size(), all.data()));
}

int reset_io_priority() {
  return error_of(
      ::syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_NONE, 0)));
}

std::vector<std::string> reset_process_attributes() {
  struct Attribute {
    std::string_view name;
    int (*reset)();
  };
  constexpr std::array kAttributes = {
      Attribute{"OOM score", reset_oom_score},
      Attribute{"scheduling policy", reset_scheduling_policy},
      Attribute{"niceness", reset_niceness},
      Attribute{"CPU affinity", reset_cpu_affinity},
      Attribute{"I/O priority", reset_io_priority},
  };
  std::vector<std::string> problems;
  for (const auto& [name, reset] : kAttributes) {
    if (const int error = reset(); error != 0) {
      problems.push_back(
          cat("cannot reset the ", name, " inherited from the daemon: ", errno_text(error)));
    }
  }
  return problems;
}

}  // namespace tangram::shim
