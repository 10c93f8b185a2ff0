// Reads the frames of SQLite's write-ahead log (-wal), each of which has a checksum over all before
// it. Needed because SQLite itself verifies them only when it opens a database.
#pragma once

#include <cstdint>

namespace tangram::store {

// The number of valid frames from the start of the open file. Fewer than were written: the file has
// lost data.
[[nodiscard]] std::uint32_t count_valid_frames(int log);

}  // namespace tangram::store
