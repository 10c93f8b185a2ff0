// See library.hpp.
#include "library.hpp"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

namespace tangram::tests {
namespace {

void* open_library() {
  void* library = dlopen(TANGRAM_EMULATOR_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  std::fprintf(stderr, "cannot open the emulated library: %s\n", dlerror());
  std::abort();
}

}  // namespace

void* find_symbol(const char* name) {
  static void* const library = open_library();
  if (void* found = dlsym(library, name)) return found;
  std::fprintf(stderr, "the emulated library has no %s\n", name);
  std::abort();
}

}  // namespace tangram::tests
