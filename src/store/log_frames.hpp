// The frames of SQLite's log (-wal), as its file format has them: each with a checksum over all
// before it. It exists because SQLite looks at them only when it opens a store. One rule: it reads.
#pragma once

#include <cstdint>

namespace tangram::store {

// How many frames of the open file are whole and in order, from the first on. Fewer than were
// written: the file does not hold what it was given.
[[nodiscard]] std::uint32_t whole_frames(int log);

}  // namespace tangram::store
