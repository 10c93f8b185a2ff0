// The tables of the store, and how a store of an older version becomes one of ours. Private to the
// store. One rule: a released schema is never edited; a new version is a new row of migrations.
#pragma once

#include <span>
#include <string>

#include <SQLiteCpp/Database.h>

#include "base/error.hpp"

namespace tangram::store {

inline constexpr int kApplicationId = 0x54414E47;  // "TANG": tells our files from other databases

struct Migration {
  int from = 0;     // to the next version
  const char* sql;  // run in one transaction with all the others
};

struct Schema {
  int version = 1;
  const char* sql;  // makes it in an empty database
  std::span<const Migration> migrations;
};

extern const char* const kSchemaVersion1;
extern const char* const kToVersion2;
extern const char* const kToVersion3;
extern const char* const kToVersion4;

// Ours.
[[nodiscard]] const Schema& current_schema();

// A new, empty store at this path, whole or not at all.
[[nodiscard]] Result<void> make_store(const std::string& path, const Schema& schema);

// Whether the open database is a store of this version; tells what else it is.
[[nodiscard]] Result<int> version_of(SQLite::Database& db, const std::string& path);
[[nodiscard]] Result<void> check_version(int version, const std::string& path,
                                         const Schema& schema);

// Backs an older store up beside itself and brings it to the schema's version.
[[nodiscard]] Result<void> migrate(SQLite::Database& db, const std::string& path, int version,
                                   const Schema& schema);

}  // namespace tangram::store
