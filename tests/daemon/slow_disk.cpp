// A library to preload that makes the disk slow, hang or fail: fdatasync() takes
// TANGRAM_SLOW_DISK_MS longer, does not return while the file $TANGRAM_SLOW_DISK.hang exists, and
// fails while $TANGRAM_SLOW_DISK.fail exists. fsync(), which the store does not use, does not
// return while $TANGRAM_SLOW_DISK.stuck exists.
#include <cerrno>
#include <cstdlib>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

bool has_file(const char* suffix) {
  const char* path = std::getenv("TANGRAM_SLOW_DISK");
  return path != nullptr && ::access((std::string(path) + suffix).c_str(), F_OK) == 0;
}

}  // namespace

extern "C" int fdatasync(int fd) {
  if (const char* delay = std::getenv("TANGRAM_SLOW_DISK_MS")) ::usleep(1'000 * std::atoi(delay));
  while (has_file(".hang")) ::usleep(1'000);
  if (has_file(".fail")) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}

extern "C" int fsync(int fd) {
  while (has_file(".stuck")) ::usleep(1'000);
  return static_cast<int>(::syscall(SYS_fsync, fd));
}
