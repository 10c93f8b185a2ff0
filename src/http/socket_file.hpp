// The socket in the file system that the daemon listens on. One rule: what is there and is not a
// socket that a dead daemon left behind is never removed.
#pragma once

#include <string>
#include <sys/types.h>

#include "base/error.hpp"

namespace tangram::http {

// A listening socket; the caller closes the descriptor and then removes the file.
struct SocketFile {
  int descriptor = -1;
  std::string path;
  dev_t device = 0;  // which file it is, so that no other one is removed in its place
  ino_t inode = 0;
};
[[nodiscard]] Result<SocketFile> listen_at(const std::string& path, unsigned mode);
void remove(const SocketFile& file);

}  // namespace tangram::http
