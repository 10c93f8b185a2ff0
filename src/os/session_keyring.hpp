// The session keyring holds keys, e.g. Kerberos tickets. Children inherit it, and each of its
// processes may use all of its keys, whatever its user. keyrings(7), session-keyring(7).
#pragma once

namespace tangram::os {

// Replaces this process's session keyring by a new, empty one, also for its future children; other
// processes keep the old one. Returns 0 or an errno. Call it before a change of user: the new
// keyring then counts against the quota of the privileged user.
[[nodiscard]] int join_new_session_keyring();

// Whether a process may go on with the inherited keyring after join_new_session_keyring() returned
// `error`. ENOSYS, EPERM: yes, the kernel has no keyrings or a seccomp filter refuses them, as in
// many containers; both apply to all children, too. EDQUOT: only if the process keeps its user.
[[nodiscard]] bool may_keep_session_keyring(int error, bool changes_user);

}  // namespace tangram::os
