// See session_keyring.hpp.
#include "os/session_keyring.hpp"

#include <cerrno>
#include <linux/keyctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tangram::os {

int join_new_session_keyring() {
  return ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0 ? errno : 0;
}

bool may_keep_session_keyring(int error, bool changes_user) {
  return error == ENOSYS || error == EPERM || (error == EDQUOT && !changes_user);
}

}  // namespace tangram::os
