// For tests of what a user may mount on a folder that is theirs: a FUSE file system that answers no
// request.
#pragma once

#include <fcntl.h>
#include <string>
#include <sys/mount.h>
#include <sys/types.h>

#include "base/text.hpp"
#include "os/descriptor.hpp"

namespace tangram::os::testing {

// Mounted while this exists, as fusermount does it for a user with the option allow_other, which
// lets root wait for it, too. Only root may mount it, and only where there is FUSE.
class HungMount {
 public:
  HungMount(std::string path, uid_t uid)
      : path_(std::move(path)), device_(::open("/dev/fuse", O_RDWR | O_CLOEXEC)) {
    const std::string options = cat("fd=", device_.get(), ",rootmode=40000,user_id=", uid,
                                    ",group_id=", uid, ",allow_other");
    is_mounted_ = device_.ok() && ::mount("tangram-test", path_.c_str(), "fuse",
                                          MS_NOSUID | MS_NODEV, options.c_str()) == 0;
  }
  ~HungMount() {
    device_ = Descriptor(-1);  // who waits gets an error
    if (is_mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  HungMount(const HungMount&) = delete;
  HungMount& operator=(const HungMount&) = delete;
  HungMount(HungMount&&) = delete;
  HungMount& operator=(HungMount&&) = delete;

  [[nodiscard]] bool is_mounted() const { return is_mounted_; }

 private:
  std::string path_;
  Descriptor device_;
  bool is_mounted_ = false;
};

}  // namespace tangram::os::testing
