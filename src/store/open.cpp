// Opening a store: takes the lock, then checks the file type, integrity and version. All errors are
// detected before anything is changed.
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>

#include "base/text.hpp"
#include "os/descriptor.hpp"
#include "store/store_impl.hpp"

namespace tangram::store {
namespace {

namespace fs = std::filesystem;
constexpr int kOpenBusyMs = 5000;
constexpr int kBusyInUseMs = 50;  // short: it blocks the daemon's loop; callers get "try again"

Result<void> check_folder(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  std::error_code ignored;
  if (folder.empty() || fs::is_directory(folder, ignored)) return {};
  return not_found(cat("cannot open the store ", path, ": there is no folder ", folder.string(),
                       "; create it or choose another with --state-dir"));
}

Result<void> check_file(const std::string& path) {
  const os::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok()) {
    return failed(cat("cannot open the store ", path, ": ", std::strerror(errno)));
  }
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  std::array<char, kMagic.size()> head{};
  const ssize_t count = ::pread(file.get(), head.data(), head.size(), 0);
  if (count < 0) {
    return failed(cat("cannot read the store ", path, ": ", std::strerror(errno)));
  }
  if (count == 0) {
    return invalid(cat("the store ", path, " is an empty file. ", recovery_hint(path)));
  }
  if (std::string_view(head.data(), static_cast<std::size_t>(count)) == kMagic) return {};
  return invalid(cat(path, " is not a database, so not a store of Tangram; choose another file or ",
                     "folder, or move it away"));
}

Result<void> check_whole(SQLite::Database& db, const std::string& path) {
  const std::string found = db.execAndGet("PRAGMA quick_check(1)").getString();
  if (found == "ok") return {};
  return failed(
      cat("the store ", path, " is damaged (", printable(found), "). ", recovery_hint(path)));
}

// Reading a database in WAL mode needs files beside it. If the folder is not writable and there is
// no WAL, the database file alone is complete and can be opened as immutable.
SQLite::Database open_read_only(const std::string& path) {
  std::error_code ignored;
  const bool has_log = fs::exists(path + "-wal", ignored);
  if (has_log || ::access(fs::path(path).parent_path().c_str(), W_OK) == 0) {
    return {path, SQLite::OPEN_READONLY, kOpenBusyMs};
  }
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '?' || c == '#' || c == '%') {
      constexpr std::string_view kHex = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      uri += {'%', kHex[byte >> 4U], kHex[byte & 15U]};
    } else {
      uri += c;
    }
  }
  return {uri + "?immutable=1", SQLite::OPEN_READONLY | SQLite::OPEN_URI, kOpenBusyMs};
}

Result<void> prepare(SQLite::Database& db, const std::string& path, const OpenOptions& options,
                     const Schema& schema) {
  const auto version = version_of(db, path);
  if (!version) return std::unexpected(version.error());
  if (const auto known = check_version(*version, path, schema); !known) return known;
  if (const auto whole = options.check ? check_whole(db, path) : Result<void>(); !whole) {
    return whole;
  }
  if (*version < schema.version) {
    if (options.read_only) {
      return invalid(cat("the store ", path, " has version ", *version, ", this Tangram version ",
                         schema.version, "; start the daemon once to migrate the store"));
    }
    if (const auto done = migrate(db, path, *version, schema); !done) return done;
  }
  db.exec("PRAGMA foreign_keys = ON");
  if (options.read_only) return {};
  db.exec("PRAGMA journal_mode = WAL");
  db.exec("PRAGMA synchronous = NORMAL");  // WalSync makes it durable
  db.exec("PRAGMA journal_size_limit = 67108864");
  return {};
}

// Replaces SQLite's automatic checkpoint within a commit: only records the length of the WAL, and
// WalSync checkpoints it.
void install_wal_hook(Store::Impl& impl) {
  const auto count = [](void* pages, sqlite3*, const char*, int now) {
    *static_cast<std::atomic<int>*>(pages) = now;
    return SQLITE_OK;
  };
  sqlite3_wal_hook(impl.db.getHandle(), count, impl.wal_pages.get());
}

// Loads the last step, snapshot and event. Steps before the newest snapshot may have been deleted.
void load_positions(Store::Impl& impl) {
  impl.snapshot = static_cast<std::uint64_t>(
      impl.db.execAndGet("SELECT coalesce(max(sequence), 0) FROM snapshots").getInt64());
  const auto last = static_cast<std::uint64_t>(
      impl.db.execAndGet("SELECT coalesce(max(sequence), 0) FROM journal").getInt64());
  impl.sequence = std::max(last, impl.snapshot);
  impl.last_event = static_cast<std::uint64_t>(
      impl.db.execAndGet("SELECT coalesce(max(id), 0) FROM events").getInt64());
}

}  // namespace

Result<std::unique_ptr<Store::Impl>> open_impl(const std::string& path, const OpenOptions& options,
                                               const Schema& schema) {
  if (const auto there = check_folder(path); !there) return std::unexpected(there.error());
  std::optional<LockFile> lock;
  std::error_code ignored;
  const bool exists = fs::exists(path, ignored);
  if (!exists && (options.read_only || !options.create)) {
    return not_found(cat("store ", path, ": not found"));
  }
  if (!options.read_only) {
    auto taken = LockFile::take(path);
    if (!taken) return std::unexpected(taken.error());
    lock.emplace(*std::move(taken));
  }
  if (!exists) {
    if (const auto made = create_store(path, schema); !made) return std::unexpected(made.error());
  }
  // Skipped if this process has the store open already: closing any descriptor of a file releases
  // all POSIX locks of the process on it, including SQLite's.
  if (const auto is = options.check ? check_file(path) : Result<void>(); !is) {
    return std::unexpected(is.error());
  }
  try {
    SQLite::Database db = options.read_only
                              ? open_read_only(path)
                              : SQLite::Database(path, SQLite::OPEN_READWRITE, kOpenBusyMs);
    if (const auto ready = prepare(db, path, options, schema); !ready) {
      return std::unexpected(ready.error());
    }
    if (!options.read_only) db.setBusyTimeout(kBusyInUseMs);
    auto impl = std::make_unique<Store::Impl>(path, std::move(lock), std::move(db));
    load_positions(*impl);
    if (!options.read_only) install_wal_hook(*impl);
    return impl;
  } catch (const SQLite::Exception& error) {
    return std::unexpected(sqlite_error(error, "open", path));
  }
}

}  // namespace tangram::store
