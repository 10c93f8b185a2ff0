// For tests of starts that take long: a program whose execution blocks, as on a file system that
// hangs. The test holds a lease on it (F_SETLEASE in fcntl(2)), which blocks open() by exec() until
// it is released, or for 45 s (/proc/sys/fs/lease-break-time). A signal ends the blocked process.
#pragma once

#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "os/descriptor.hpp"

namespace tangram::os::testing {

class BlockedProgram {
 public:
  // Writes a program that exits with 0.
  explicit BlockedProgram(std::string path) : path_(std::move(path)) {
    ::signal(SIGIO, SIG_IGN);  // sent when a program opens the file
    std::ofstream(path_) << "#!/bin/sh\nexit 0\n";
    ::chmod(path_.c_str(), 0755);
    file_ = Descriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    is_blocked_ = ::fcntl(file_.get(), F_SETLEASE, F_WRLCK) == 0;
  }
  // False: the file system has no leases.
  [[nodiscard]] bool is_blocked() const { return is_blocked_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  void unblock() { file_ = Descriptor(-1); }

 private:
  std::string path_;
  Descriptor file_{-1};
  bool is_blocked_ = false;
};

}  // namespace tangram::os::testing
