// The lock of an open file, by which a process holds a folder as long as it lives. It is one that
// can be asked after without taking it, as that of flock() cannot. One rule: who asks gets in
// nobody's way.
#pragma once

#include <string>

namespace tangram::files {

// 0: taken, until the file is closed. EAGAIN: another has it. Else why it cannot be locked.
[[nodiscard]] int take_lock(int file);

// Whether somebody holds the lock of this file; nobody does of one that is not there.
[[nodiscard]] bool is_locked(const std::string& path);

}  // namespace tangram::files
