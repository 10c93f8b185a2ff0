// See backup.hpp.
#include "store/backup.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include <SQLiteCpp/Backup.h>

#include "base/text.hpp"
#include "os/descriptor.hpp"
#include "store/lock_file.hpp"
#include "store/restore_scheduler.hpp"
#include "store/schema.hpp"
#include "store/sqlite_error.hpp"
#include "store/store.hpp"

namespace tangram::store {
namespace {

namespace fs = std::filesystem;

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

bool sync_path(const std::string& path, int flags) {
  const os::Descriptor file(::open(path.c_str(), flags | O_RDONLY | O_CLOEXEC));
  return file.ok() && ::fsync(file.get()) == 0;
}

// Removes a database with SQLite's files beside it.
void remove_database(const std::string& path) {
  std::error_code ignored;
  for (const char* suffix : {"", "-journal", "-wal", "-shm"}) fs::remove(path + suffix, ignored);
}

std::unexpected<Error> cannot(std::string_view what, const std::string& path) {
  return failed(cat("cannot ", what, " ", path, ": ", std::strerror(errno), "."));
}

// Checks that a daemon could start with the file.
Result<void> verify(const std::string& path) {
  const auto opened = Store::open(path, {.read_only = true, .create = false});
  if (!opened) return std::unexpected(opened.error());
  const auto contents = (*opened)->load(0);
  if (!contents) return std::unexpected(contents.error());
  if (contents->fresh) return {};
  const auto scheduler = restore_scheduler(contents->scheduler);
  return scheduler ? Result<void>() : std::unexpected(scheduler.error());
}

// As verify(), but accepts a store of an older version if the file is undamaged: a daemon migrates
// it at its start, or the older Tangram that made it uses it as it is (a downgrade).
Result<void> verify_or_older(const std::string& path) {
  auto good = verify(path);
  if (good) return good;
  try {
    SQLite::Database db(path, SQLite::OPEN_READONLY, 5000);
    const auto version = version_of(db, path);
    if (!version || *version >= schema_in_use().version) return good;
    if (db.execAndGet("PRAGMA quick_check(1)").getString() != "ok") {
      return failed(cat("the backup ", path, " is damaged; choose another one"));
    }
    return {};
  } catch (const SQLite::Exception&) {
    return good;
  }
}

}  // namespace

std::string file_time(std::chrono::system_clock::time_point when) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(when);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[32];
  const std::size_t size = std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &utc);
  return {text, size};
}

Result<void> rename_durably(const std::string& from, const std::string& to) {
  if (!sync_path(from, 0)) return cannot("write", from);
  if (std::rename(from.c_str(), to.c_str()) != 0) return cannot("make", to);
  if (!sync_path(folder_of(to), O_DIRECTORY)) return cannot("write the folder of", to);
  return {};
}

Result<void> copy_database(SQLite::Database& from, const std::string& from_path,
                           const std::string& to) {
  const std::string part = to + ".part";
  remove_database(part);
  const os::Descriptor made(::open(part.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made.ok()) return cannot("make", part);
  try {
    SQLite::Database copy(part, SQLite::OPEN_READWRITE);
    SQLite::Backup backup(copy, from);
    backup.executeStep(-1);
    // Not WAL: readers of a plain file need no write access to its folder.
  } catch (const SQLite::Exception& error) {
    remove_database(part);
    return std::unexpected(sqlite_error(error, "copy", from_path));
  }
  try {
    SQLite::Database(part, SQLite::OPEN_READWRITE).exec("PRAGMA journal_mode = DELETE");
  } catch (const SQLite::Exception& error) {
    remove_database(part);
    return std::unexpected(sqlite_error(error, "finish the copy of", from_path));
  }
  return rename_durably(part, to);
}

Result<void> create_backup(const std::string& store, const std::string& to, bool replace) {
  std::error_code ignored;
  if (!replace && fs::exists(to, ignored)) {
    return invalid(cat(to, " exists. Name another file, or replace it with --force."));
  }
  if (!fs::is_regular_file(store, ignored)) {
    return not_found(cat("store ", store, ": not found"));
  }
  const std::string unchecked = to + ".unchecked";
  try {
    SQLite::Database db(store, SQLite::OPEN_READONLY, 5000);
    if (const auto done = copy_database(db, store, unchecked); !done) return done;
  } catch (const SQLite::Exception& error) {
    return std::unexpected(sqlite_error(error, "read", store));
  }
  if (const auto good = verify(unchecked); !good) {
    remove_database(unchecked);
    return failed(
        cat("the backup of ", store, " is unusable and was removed: ", good.error().message));
  }
  const auto renamed = rename_durably(unchecked, to);
  remove_database(unchecked);  // the files that verifying left beside it
  return renamed;
}

Result<std::string> restore_backup(const std::string& backup, const std::string& store) {
  std::error_code ignored;
  if (!fs::is_regular_file(backup, ignored)) {
    return not_found(cat("backup ", backup, ": not found"));
  }
  if (const auto good = verify_or_older(backup); !good) return std::unexpected(good.error());
  const auto lock = LockFile::take(store);
  if (!lock) return std::unexpected(lock.error());
  const std::string fresh = store + ".restored";
  try {
    SQLite::Database db(backup, SQLite::OPEN_READONLY, 5000);
    if (const auto done = copy_database(db, backup, fresh); !done) {
      return std::unexpected(done.error());
    }
  } catch (const SQLite::Exception& error) {
    return std::unexpected(sqlite_error(error, "read", backup));
  }
  std::string kept;
  if (fs::exists(store, ignored)) {
    kept = cat(store, ".replaced-", file_time(std::chrono::system_clock::now()));
    for (int i = 2; fs::exists(kept, ignored); ++i) {
      kept = cat(store, ".replaced-", file_time(std::chrono::system_clock::now()), "-", i);
    }
    // The WAL belongs to the previous database and must not be applied to the restored one.
    for (const char* suffix : {"-wal", "-shm", ""}) {
      if (!fs::exists(store + suffix, ignored)) continue;
      if (std::rename((store + suffix).c_str(), (kept + suffix).c_str()) != 0) {
        return cannot("move away", store + suffix);
      }
    }
  }
  if (const auto done = rename_durably(fresh, store); !done) return std::unexpected(done.error());
  return kept;
}

}  // namespace tangram::store
