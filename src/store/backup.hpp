// Backups of a store, also while a daemon uses it, and restoring them. A copy gets its final name
// only after it is complete and durable.
#pragma once

#include <chrono>
#include <string>

#include <SQLiteCpp/Database.h>

#include "base/error.hpp"

namespace tangram::store {

// A UTC time for file names, e.g. "20260301T120000Z".
[[nodiscard]] std::string file_time(std::chrono::system_clock::time_point when);

// Renames a file and syncs file and folder.
[[nodiscard]] Result<void> rename_durably(const std::string& from, const std::string& to);

// Copies a consistent snapshot of an open database to a new file, durably.
[[nodiscard]] Result<void> copy_database(SQLite::Database& from, const std::string& from_path,
                                         const std::string& to);

// Backs the store up to `to`; a daemon may be using it. Fails if the file exists, unless `replace`.
// The copy is opened and checked before it gets its final name.
[[nodiscard]] Result<void> create_backup(const std::string& store, const std::string& to,
                                         bool replace);

// Replaces the store by a backup; fails if a daemon uses the store. The previous store is kept as
// STORE.replaced-TIME; returns that path, or "" if there was none. The backup may be of an older
// version, e.g. the one that an upgrade made: it is not migrated.
[[nodiscard]] Result<std::string> restore_backup(const std::string& backup,
                                                 const std::string& store);

}  // namespace tangram::store
