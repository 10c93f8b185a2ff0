// A disk that is slow, hangs or fails, for a process that is started with this library preloaded:
// its fdatasync() takes TANGRAM_SLOW_DISK_MS longer, does not return while there is a file named
// $TANGRAM_SLOW_DISK.hang, and fails while there is one named $TANGRAM_SLOW_DISK.fail. Its fsync(),
// which the store does without, does not return while there is one named $TANGRAM_SLOW_DISK.stuck.
#include <cerrno>
#include <cstdlib>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

bool there_is(const char* ending) {
  const char* path = std::getenv("TANGRAM_SLOW_DISK");
  return path != nullptr && ::access((std::string(path) + ending).c_str(), F_OK) == 0;
}

}  // namespace

extern "C" int fdatasync(int fd) {
  if (const char* delay = std::getenv("TANGRAM_SLOW_DISK_MS")) ::usleep(1'000 * std::atoi(delay));
  while (there_is(".hang")) ::usleep(1'000);
  if (there_is(".fail")) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}

extern "C" int fsync(int fd) {
  while (there_is(".stuck")) ::usleep(1'000);
  return static_cast<int>(::syscall(SYS_fsync, fd));
}
