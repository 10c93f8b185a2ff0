// A library to preload that sets the wall clock: CLOCK_REALTIME is shifted by the seconds in the
// file $TANGRAM_SHIFTED_CLOCK, if it exists. The other clocks are not changed.
#include <cstdlib>
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern "C" int clock_gettime(clockid_t clock, timespec* time) {
  const int result = static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  const char* path = clock == CLOCK_REALTIME ? std::getenv("TANGRAM_SHIFTED_CLOCK") : nullptr;
  const int fd = path == nullptr ? -1 : ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return result;
  char text[32] = {};
  if (::read(fd, text, sizeof text - 1) > 0) time->tv_sec += std::atol(text);
  ::close(fd);
  return result;
}
