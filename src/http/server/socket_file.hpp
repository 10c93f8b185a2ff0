// The daemon's unix socket in the file system. Only a stale socket, on which no process listens, is
// ever replaced; any other file is left alone. A lock keeps daemons that start or end at the same
// time from removing each other's socket. It is on a file of its own beside the socket,
// ".NAME.lock" (mode 0600), which other users cannot open: a user who can open it can also lock it.
// The file stays.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <sys/types.h>

#include "base/error.hpp"

namespace tangram::http {

// A listening socket. The caller closes the descriptor and then removes the file.
struct SocketFile {
  int descriptor = -1;
  std::string path;
  dev_t device = 0;  // identity of the file, so that remove() does not remove another one
  ino_t inode = 0;
};
// How long to wait for the lock while another daemon holds it.
struct LockWait {
  std::chrono::milliseconds time{5'000};
  std::function<void(const std::string& message)> on_wait = {};  // called once before waiting
};
// Binds and listens; blocks for `wait.time` at most. Fails if another daemon listens there or holds
// the lock, if another kind of file is in the way, or if the lock file is not this user's alone.
[[nodiscard]] Result<SocketFile> listen_at(const std::string& path, unsigned mode,
                                           const LockWait& wait = {});
// Removes the file if it is still the same one and no other daemon is replacing it. Does not block.
void remove(const SocketFile& file);

}  // namespace tangram::http
