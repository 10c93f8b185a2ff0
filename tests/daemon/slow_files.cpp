// A library to preload that makes a file system hang: lstat() and unlink() of paths that contain
// the text in the file $TANGRAM_SLOW_FILES do not return while that file exists.
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

bool hangs(const char* path) {
  const char* control = std::getenv("TANGRAM_SLOW_FILES");
  const int fd = control == nullptr ? -1 : ::open(control, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[256] = {};
  const bool has_text = ::read(fd, text, sizeof text - 1) > 0;
  ::close(fd);
  return has_text && std::strstr(path, text) != nullptr;
}

void wait_for(const char* path) {
  while (hangs(path)) ::usleep(1'000);
}

}  // namespace

extern "C" int lstat(const char* path, struct stat* status) {
  wait_for(path);
  return ::fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

extern "C" int unlink(const char* path) {
  wait_for(path);
  return ::unlinkat(AT_FDCWD, path, 0);
}
