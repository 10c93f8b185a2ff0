// Copies of a store: backups while a daemon runs, and a backup put in a store's place. One rule: a
// copy gets its name only when it is whole and on the disk.
#pragma once

#include <chrono>
#include <string>

#include <SQLiteCpp/Database.h>

#include "base/error.hpp"

namespace tangram::store {

// "20260301T120000Z"
[[nodiscard]] std::string file_time(std::chrono::system_clock::time_point when);

// Renames and waits until the folder knows it for good.
[[nodiscard]] Result<void> rename_durably(const std::string& from, const std::string& to);

// All of an open database, as of one moment, to a new file.
[[nodiscard]] Result<void> copy_database(SQLite::Database& from, const std::string& from_path,
                                         const std::string& to);

// A backup of the store, which a daemon may be using. Refuses to replace a file unless `replace`;
// what was written is opened and checked before it gets its name.
[[nodiscard]] Result<void> back_up(const std::string& store, const std::string& to, bool replace);

// Puts a backup in the store's place, unless a daemon uses it. What was there stays beside it, as
// STORE.replaced-TIME; gives that name, or nothing if there was none.
[[nodiscard]] Result<std::string> put_back(const std::string& backup, const std::string& store);

}  // namespace tangram::store
