// See pam_library.hpp.
#include "shim/pam_library.hpp"

#include <dlfcn.h>
#include <string>

#include "base/text.hpp"

namespace tangram::shim {
namespace {

template <class Function>
void find(void* library, const char* name, Function& function, std::string& missing) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr && missing.empty()) missing = name;
}

}  // namespace

Result<PamLibrary> load_pam() {
  void* library = ::dlopen("libpam.so.0", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    const char* why = ::dlerror();
    return failed(cat("cannot load libpam.so.0 (package libpam0g): ", why == nullptr ? "?" : why));
  }
  PamLibrary pam;
  std::string missing;
  find(library, "pam_start_confdir", pam.start, missing);
  find(library, "pam_end", pam.end, missing);
  find(library, "pam_set_item", pam.set_item, missing);
  find(library, "pam_acct_mgmt", pam.acct_mgmt, missing);
  find(library, "pam_setcred", pam.setcred, missing);
  find(library, "pam_open_session", pam.open_session, missing);
  find(library, "pam_close_session", pam.close_session, missing);
  find(library, "pam_getenvlist", pam.getenvlist, missing);
  find(library, "pam_strerror", pam.strerror, missing);
  if (!missing.empty()) return failed(cat("libpam.so.0 has no function ", missing));
  return pam;
}

}  // namespace tangram::shim
