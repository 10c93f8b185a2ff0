// Open file description locks (F_OFD_SETLK), by which a process holds a folder until it ends.
// Unlike flock(), they can be queried without being taken.
#pragma once

#include <string>

namespace tangram::os {

// Takes the lock, which is held until the file is closed. Returns 0, EAGAIN if it is held
// elsewhere, or another errno value.
[[nodiscard]] int take_lock(int file);

// Whether the lock of this file is held; false if the file does not exist.
[[nodiscard]] bool is_locked(const std::string& path);

}  // namespace tangram::os
