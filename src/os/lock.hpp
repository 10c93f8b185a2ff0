// Open file description locks (F_OFD_SETLK), by which a process holds a folder until it ends.
// Unlike flock(), they can be queried without being taken.
#pragma once

#include <string>

namespace tangram::os {

// Takes the lock, which is held until the file is closed. Returns 0, EAGAIN if it is held
// elsewhere, or another errno value.
[[nodiscard]] int take_lock(int file);

enum class LockState {
  kFree,     // not held, or the file does not exist
  kHeld,     // an open file holds it
  kUnknown,  // the file cannot be opened or queried (EMFILE, EIO, EACCES …)
};
// The state of this file's lock. Does not take the lock; needs read permission only. A caller that
// gives up what the lock protects must not take kUnknown for kFree.
[[nodiscard]] LockState lock_state(const std::string& path);

}  // namespace tangram::os
