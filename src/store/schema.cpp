// See schema.hpp.
#include "store/schema.hpp"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>

#include <SQLiteCpp/Backup.h>
#include <SQLiteCpp/Transaction.h>

#include "base/text.hpp"
#include "os/descriptor.hpp"
#include "store/backup.hpp"
#include "store/sqlite_error.hpp"

namespace tangram::store {
namespace {

std::string pragma(std::string_view name, int value) { return cat("PRAGMA ", name, " = ", value); }

}  // namespace

// Created under a temporary name, so that an existing store is always complete. Readable by its
// owner only, because requests contain users' environments.
Result<void> create_store(const std::string& path, const Schema& schema) {
  const std::string made = path + ".new";
  std::error_code ignored;
  std::filesystem::remove(made, ignored);
  std::filesystem::remove(made + "-journal", ignored);
  if (!os::Descriptor(::open(made.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)).ok()) {
    return failed(cat("cannot create the store ", path, ": ", std::strerror(errno),
                      "; check that its folder can be written"));
  }
  try {
    SQLite::Database db(made, SQLite::OPEN_READWRITE);
    SQLite::Transaction transaction(db);
    db.exec(schema.sql);
    db.exec(pragma("application_id", kApplicationId));
    db.exec(pragma("user_version", schema.version));
    transaction.commit();
  } catch (const SQLite::Exception& error) {
    std::filesystem::remove(made, ignored);
    return std::unexpected(sqlite_error(error, "create", path));
  }
  return rename_durably(made, path);
}

Result<int> version_of(SQLite::Database& db, const std::string& path) {
  const int application = db.execAndGet("PRAGMA application_id").getInt();
  const int version = db.execAndGet("PRAGMA user_version").getInt();
  if (application == kApplicationId) return version;
  return invalid(cat(path, " is a database, but not a store of Tangram; choose another file or ",
                     "folder, or move it away"));
}

Result<void> check_version(int version, const std::string& path, const Schema& schema) {
  if (version <= schema.version) return {};
  return invalid(cat("the store ", path, " has version ", version,
                     ", made by a newer Tangram; this one (", TANGRAM_VERSION,
                     ") reads up to version ", schema.version,
                     "; install the newer one, or restore a backup made by this one"));
}

Result<void> migrate(SQLite::Database& db, const std::string& path, int version,
                     const Schema& schema) {
  const auto now = std::chrono::system_clock::now();
  const std::string backup = cat(path, ".backup-v", version, "-", file_time(now));
  if (const auto copied = copy_database(db, path, backup); !copied) return copied;
  SQLite::Transaction transaction(db);
  for (int at = version; at < schema.version; ++at) {
    const Migration* step = nullptr;
    for (const Migration& each : schema.migrations) {
      if (each.from == at) step = &each;
    }
    if (step == nullptr) {
      return failed(cat("the store ", path, " has version ", at,
                        ", and there is no migration from it to ", schema.version));
    }
    db.exec(step->sql);
  }
  db.exec(pragma("user_version", schema.version));
  transaction.commit();
  return {};
}

}  // namespace tangram::store
