// A library to preload that makes the user database hang: getpwuid_r() does not return while the
// file $TANGRAM_SLOW_USERS.hang exists. The uids it was called with are appended to
// $TANGRAM_SLOW_USERS.lookups, one per line.
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <pwd.h>
#include <string>
#include <unistd.h>

extern "C" int getpwuid_r(uid_t uid, passwd* entry, char* text, size_t size, passwd** found) {
  using Real = int (*)(uid_t, passwd*, char*, size_t, passwd**);
  static const auto real = reinterpret_cast<Real>(::dlsym(RTLD_NEXT, "getpwuid_r"));
  if (const char* path = std::getenv("TANGRAM_SLOW_USERS")) {
    std::ofstream(std::string(path) + ".lookups", std::ios::app) << uid << std::endl;
    while (::access((std::string(path) + ".hang").c_str(), F_OK) == 0) ::usleep(1'000);
  }
  return real(uid, entry, text, size, found);
}
