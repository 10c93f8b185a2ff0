// See check.hpp. A failed CHECK prints one line on standard error and aborts with a core dump.
#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace tangram {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "tangram: %s:%d: CHECK(%s) failed: this is a bug in Tangram\n", file, line,
               condition);
  std::abort();
}

}  // namespace tangram
