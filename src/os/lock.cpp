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

LockState lock_state(const std::string& path) {
  const Descriptor lock(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!lock.ok()) {
    return errno == ENOENT || errno == ENOTDIR ? LockState::kFree : LockState::kUnknown;
  }
  struct flock probe{};
  probe.l_type = F_WRLCK;
  if (::fcntl(lock.get(), F_OFD_GETLK, &probe) != 0) return LockState::kUnknown;
  return probe.l_type == F_UNLCK ? LockState::kFree : LockState::kHeld;
}

}  // namespace tangram::os
