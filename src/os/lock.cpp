// See lock.hpp.
#include "os/lock.hpp"

#include <cerrno>
#include <fcntl.h>

#include "os/descriptor.hpp"

namespace tangram::os {

int take_lock(int file) {
  struct flock whole{};
  whole.l_type = F_WRLCK;
  if (::fcntl(file, F_OFD_SETLK, &whole) == 0) return 0;
  return errno == EACCES ? EAGAIN : errno;  // POSIX allows either
}

bool is_locked(const std::string& path) {
  const Descriptor lock(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!lock.ok()) return false;
  struct flock probe{};
  probe.l_type = F_WRLCK;
  return ::fcntl(lock.get(), F_OFD_GETLK, &probe) == 0 && probe.l_type != F_UNLCK;
}

}  // namespace tangram::os
