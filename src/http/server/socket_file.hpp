// The daemon's unix socket in the file system. Only a stale socket, on which no process listens, is
// ever replaced; any other file is left alone.
#pragma once

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
// Binds and listens. Fails if another daemon listens there or another kind of file is in the way.
[[nodiscard]] Result<SocketFile> listen_at(const std::string& path, unsigned mode);
// Removes the file if it is still the same one.
void remove(const SocketFile& file);

}  // namespace tangram::http
