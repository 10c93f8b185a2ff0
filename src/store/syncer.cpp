// See syncer.hpp. SQLite's own way to sync at every commit would be the same calls within COMMIT.
#include "store/syncer.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include "base/text.hpp"
#include "files/durable.hpp"
#include "files/failure.hpp"
#include "store/parts.hpp"

namespace tangram::store {
namespace {

constexpr int kLongLog = 4'000;  // pages: 16 MB
constexpr int kBusyMs = 1'000;

std::unexpected<Error> not_on_disk(const std::string& path, int code) {
  return failed(cat("cannot put the store ", path, " on the disk: ", files::why(code),
                    ". Look at the kernel's log; it is tried again."));
}

}  // namespace

Syncer::Syncer(const Store& store)
    : path_(store.parts_->path), log_pages_(store.parts_->log_pages) {}
Syncer::~Syncer() = default;

Result<Synced> Syncer::sync() {
  if (const auto done = unsure_ ? bring_in(true) : sync_log(); !done) {
    unsure_ = true;
    return std::unexpected(done.error());
  }
  unsure_ = false;
  if (*log_pages_ < kLongLog) return Synced{};
  const auto brought = bring_in(false);
  return Synced{.log_trouble = brought ? "" : brought.error().message};
}

Result<void> Syncer::sync_log() {
  if (!log_) {
    files::Descriptor log(::open((path_ + "-wal").c_str(), O_RDONLY | O_CLOEXEC));
    if (!log.ok()) return not_on_disk(path_, errno);
    const auto folder = std::filesystem::path(path_).parent_path().string();
    if (auto named = files::sync_folder(folder.empty() ? "." : folder); !named) return named;
    log_ = std::move(log);
  }
  if (::fdatasync(log_->get()) != 0) return not_on_disk(path_, errno);
  return {};
}

Result<void> Syncer::bring_in(bool all) {
  try {
    if (!db_) {
      db_ = std::make_unique<SQLite::Database>(path_, SQLite::OPEN_READWRITE, kBusyMs);
      db_->exec("PRAGMA synchronous = FULL");
    }
    SQLite::Statement checkpoint(
        *db_, all ? "PRAGMA wal_checkpoint(FULL)" : "PRAGMA wal_checkpoint(PASSIVE)");
    const bool busy = checkpoint.executeStep() && checkpoint.getColumn(0).getInt() != 0;
    if (all && busy) {
      return failed(
          cat("cannot put the store ", path_, " on the disk: others read it. It is tried again."));
    }
    return {};
  } catch (const SQLite::Exception& error) {
    return std::unexpected(sqlite_error(error, "put on the disk", path_));
  }
}

}  // namespace tangram::store
