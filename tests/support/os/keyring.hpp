// For tests of what a process inherits: the session keyring, by system calls, and a kernel or
// container that refuses keyctl(2).
#pragma once

#include <cerrno>
#include <cstddef>
#include <iterator>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.hpp"

namespace tangram::os::testing {

// Gives this process a new session keyring. False: this machine has no keyrings.
[[nodiscard]] inline bool join_session_keyring() {
  return ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) > 0;
}

// Adds a key to this process's session keyring. Returns its serial number, or -1.
inline long add_session_key(const std::string& name, std::string_view secret) {
  return ::syscall(SYS_add_key, "user", name.c_str(), secret.data(), secret.size(),
                   KEY_SPEC_SESSION_KEYRING);
}

// Lines of shell that print the content of a key, or "errno N". Perl is essential in Debian.
inline std::string print_key_script(long serial) {
  return cat("perl -e '$b = \"\\0\" x 64; $n = syscall(", SYS_keyctl, ", ", KEYCTL_READ, ", ",
             serial, ", $b, 64); print $n < 0 ? \"errno \" . ($! + 0) : substr($b, 0, $n), ",
             "\"\\n\"'\n");
}

// Lines of shell that add a key to the session keyring and print its serial number, or -1.
inline std::string add_key_script(std::string_view name, std::string_view secret) {
  return cat("perl -e '($t, $n, $s) = (\"user\", \"", name, "\", \"", secret, "\"); print syscall(",
             SYS_add_key, ", $t, $n, $s, length($s), ", KEY_SPEC_SESSION_KEYRING, "), \"\\n\"'\n");
}

// The content of a key as this process reads it, or "errno N".
inline std::string read_key(long serial) {
  char content[64];
  const long size = ::syscall(SYS_keyctl, KEYCTL_READ, serial, content, sizeof content);
  return size < 0 ? cat("errno ", errno) : std::string(content, static_cast<std::size_t>(size));
}

// From now on keyctl(2) fails with `error` in this process and its children, as under the seccomp
// filter of a container. False: filters cannot be set here.
inline bool refuse_keyctl(int error) {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_keyctl, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = std::size(rules), .filter = rules};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace tangram::os::testing
