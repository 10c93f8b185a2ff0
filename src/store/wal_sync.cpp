// See wal_sync.hpp. With synchronous=FULL, SQLite would do the same within COMMIT.
#include "store/wal_sync.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <vector>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include "base/text.hpp"
#include "os/durable.hpp"
#include "os/failure.hpp"
#include "store/store_impl.hpp"
#include "store/wal_frames.hpp"

namespace tangram::store {
namespace {

constexpr int kCheckpointPages = 4'000;  // pages: 16 MB
constexpr int kSyncBusyMs = 1'000;

std::unexpected<Error> sync_failed(const std::string& path, std::string_view why) {
  return failed(cat("cannot sync the store ", path, " to disk: ", why,
                    "; check the kernel log (it is retried)"));
}

}  // namespace

struct WalSync::Connection {
  explicit Connection(const std::string& path) : db(path, SQLite::OPEN_READWRITE, kSyncBusyMs) {}

  SQLite::Database db;
};

WalSync::WalSync(const Store& store)
    : path_(store.impl_->path), wal_pages_(store.impl_->wal_pages) {}
WalSync::~WalSync() = default;

Result<void> WalSync::sync() {
  if (auto opened = open_wal(); !opened) return opened;
  if (auto written = must_rewrite_ ? rewrite_wal() : Result<void>(); !written) return written;
  must_rewrite_ = true;
  if (::fdatasync(wal_->get()) != 0) return sync_failed(path_, os::errno_text(errno));
  must_rewrite_ = false;
  return {};
}

Result<void> WalSync::open_wal() {
  if (!wal_) {
    os::Descriptor log(::open((path_ + "-wal").c_str(), O_RDWR | O_CLOEXEC));
    if (!log.ok()) return sync_failed(path_, os::errno_text(errno));
    const auto folder = std::filesystem::path(path_).parent_path().string();
    if (auto named = os::sync_folder(folder.empty() ? "." : folder); !named) return named;
    wal_ = std::move(log);
  }
  struct stat is{};
  if (::fstat(wal_->get(), &is) != 0) return sync_failed(path_, os::errno_text(errno));
  if (is.st_nlink == 0) {
    return sync_failed(path_, "its log (-wal) was removed; restart tangramd");
  }
  return {};
}

// Writes the same bytes again, so that the kernel sends them to the disk once more. If its cache
// has lost them too, the file holds old data, which must not be taken for the committed data.
Result<void> WalSync::rewrite_wal() const {
  const int frames = *wal_pages_;
  if (count_valid_frames(wal_->get()) < static_cast<std::uint32_t>(frames)) {
    return sync_failed(path_, "its log (-wal) has lost data; restart tangramd");
  }
  std::vector<char> bytes(std::size_t{1} << 20U);
  off_t at = 0;
  while (true) {
    const ssize_t read = ::pread(wal_->get(), bytes.data(), bytes.size(), at);
    if (read == 0) return {};
    if (read < 0) return sync_failed(path_, os::errno_text(errno));
    for (ssize_t done = 0; done < read;) {
      const auto left = static_cast<std::size_t>(read - done);
      const ssize_t count = ::pwrite(wal_->get(), bytes.data() + done, left, at + done);
      if (count < 0) return sync_failed(path_, os::errno_text(errno));
      done += count;
    }
    at += read;
  }
}

// The first commit after a checkpoint restarts the WAL and waits for the disk; doing that here
// keeps it off the Store's thread. It needs a write that SQLite does not skip: setting user_version
// to its value writes the header, while updating a row to its value writes nothing.
Result<void> WalSync::checkpoint() {
  if (*wal_pages_ < kCheckpointPages) return {};
  try {
    if (!connection_) {
      connection_ = std::make_unique<Connection>(path_);
      connection_->db.exec("PRAGMA synchronous = FULL");
    }
    SQLite::Database& db = connection_->db;
    SQLite::Statement(db, "PRAGMA wal_checkpoint(PASSIVE)").executeStep();
    const int version = db.execAndGet("PRAGMA user_version").getInt();
    db.exec(cat("PRAGMA user_version = ", version));
    return {};
  } catch (const SQLite::Exception& error) {
    return std::unexpected(sqlite_error(error, "checkpoint", path_));
  }
}

}  // namespace tangram::store
