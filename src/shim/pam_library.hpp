// PamLibrary: libpam, loaded when it is needed. The shim is not linked with it: a node without
// `jobs.pam` needs no libpam, and no shim has it in memory, because only the process of a session
// loads it (pam_process.hpp).
#pragma once

#include <security/pam_appl.h>

#include "base/error.hpp"

namespace tangram::shim {

struct PamLibrary {
  decltype(&::pam_start_confdir) start = nullptr;
  decltype(&::pam_end) end = nullptr;
  decltype(&::pam_set_item) set_item = nullptr;
  decltype(&::pam_acct_mgmt) acct_mgmt = nullptr;
  decltype(&::pam_setcred) setcred = nullptr;
  decltype(&::pam_open_session) open_session = nullptr;
  decltype(&::pam_close_session) close_session = nullptr;
  decltype(&::pam_getenvlist) getenvlist = nullptr;
  decltype(&::pam_strerror) strerror = nullptr;
};

// The library stays loaded.
[[nodiscard]] Result<PamLibrary> load_pam();

}  // namespace tangram::shim
