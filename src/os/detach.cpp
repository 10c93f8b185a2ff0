// See detach.hpp.
#include "os/detach.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tangram::os {

void open_standard_streams() {
  int fd = ::open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::dup(fd);
  if (fd >= 0) ::close(fd);
}

void close_other_descriptors(int kept) {
  const auto from = static_cast<unsigned>(STDERR_FILENO + 1);
  if (kept < STDERR_FILENO + 1) {
    ::syscall(SYS_close_range, from, ~0U, 0);
    return;
  }
  const auto spared = static_cast<unsigned>(kept);
  if (spared > from) ::syscall(SYS_close_range, from, spared - 1, 0);
  ::syscall(SYS_close_range, spared + 1, ~0U, 0);
  ::fcntl(kept, F_SETFD, FD_CLOEXEC);
}

// setsid() fails for a process group leader (e.g. if started by a shell); after joining the
// parent's group it succeeds.
void start_session() {
  if (::setsid() >= 0) return;
  if (::setpgid(0, ::getpgid(::getppid())) == 0) ::setsid();
}

}  // namespace tangram::os
