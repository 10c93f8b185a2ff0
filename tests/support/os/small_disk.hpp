// For tests of full disks: a file system of its own that can be filled.
#pragma once

#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/mount.h>
#include <unistd.h>

#include "os/descriptor.hpp"

namespace tangram::os::testing {

// A small tmpfs, mounted while this exists. Only root may mount one.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& path, const char* options = "size=512k,mode=755")
      : path_(path) {
    std::filesystem::create_directories(path);
    is_mounted_ = ::mount("tangram-test", path.c_str(), "tmpfs", 0, options) == 0;
  }
  ~SmallDisk() {
    if (is_mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  SmallDisk(SmallDisk&&) = delete;
  SmallDisk& operator=(SmallDisk&&) = delete;

  [[nodiscard]] bool is_mounted() const { return is_mounted_; }
  void fill() const {
    const Descriptor file(
        ::open((path_ + "/filler").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    const std::string block(4'096, 'x');
    while (::write(file.get(), block.data(), block.size()) > 0) {
    }
  }
  void empty() const { ::unlink((path_ + "/filler").c_str()); }

 private:
  std::string path_;
  bool is_mounted_ = false;
};

}  // namespace tangram::os::testing
