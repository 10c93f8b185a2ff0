// The schema of the store and migrations from older versions. Private to the store. A released
// schema must not be edited; a new version is a new migration.
#pragma once

#include <span>
#include <string>

#include <SQLiteCpp/Database.h>

#include "base/error.hpp"

namespace tangram::store {

inline constexpr int kApplicationId = 0x54414E47;  // "TANG": marks the database as a store

struct Migration {
  int from = 0;               // migrates from this version to the next
  const char* sql = nullptr;  // all migrations run in one transaction
};

struct Schema {
  int version = 1;
  const char* sql = nullptr;  // creates it in an empty database
  std::span<const Migration> migrations;
};

extern const char* const kSchemaVersion1;
extern const char* const kToVersion2;
extern const char* const kToVersion3;
extern const char* const kToVersion4;
extern const char* const kToVersion5;
extern const char* const kToVersion6;
extern const char* const kToVersion7;

// The schema of this version of Tangram.
[[nodiscard]] const Schema& current_schema();

// The schema that Store::open() uses: the current one, or, in programs built with
// TANGRAM_REHEARSAL, one version later. Tests of upgrades install those as the next version.
[[nodiscard]] const Schema& schema_in_use();

// Creates an empty store at this path, atomically.
[[nodiscard]] Result<void> create_store(const std::string& path, const Schema& schema);

// version_of() fails if the database is not a store; check_version() fails if the version is newer
// than the schema's.
[[nodiscard]] Result<int> version_of(SQLite::Database& db, const std::string& path);
[[nodiscard]] Result<void> check_version(int version, const std::string& path,
                                         const Schema& schema);

// Backs an older store up beside itself and migrates it to the schema's version.
[[nodiscard]] Result<void> migrate(SQLite::Database& db, const std::string& path, int version,
                                   const Schema& schema);

}  // namespace tangram::store
