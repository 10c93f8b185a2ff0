// arc4random() for portable programs (cmake/TangramPortable.cmake). std::random_device of Debian 12's libstdc++.a
// calls it, and with glibc's the programs would need glibc 2.36. Like glibc's, it never fails: it takes the kernel's
// random bytes, which can only be missing on a kernel without getrandom(2).
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
  uint32_t value;
  for (;;) {
    const ssize_t got = getrandom(&value, sizeof value, 0);
    if (got == (ssize_t)sizeof value) return value;
    if (got < 0 && errno != EINTR) abort();
  }
}
