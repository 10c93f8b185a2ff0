// See syncer.hpp. SQLite would make the same calls within COMMIT.
#include "store/syncer.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <vector>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include "base/text.hpp"
#include "files/durable.hpp"
#include "files/failure.hpp"
#include "store/log_frames.hpp"
#include "store/parts.hpp"

namespace tangram::store {
namespace {

constexpr int kLongLog = 4'000;  // pages: 16 MB
constexpr int kBusyMs = 1'000;

std::unexpected<Error> not_on_disk(const std::string& path, std::string_view why) {
  return failed(cat("cannot put the store ", path, " on the disk: ", why,
                    ". Look at the kernel's log; it is tried again."));
}

}  // namespace

Syncer::Syncer(const Store& store)
    : path_(store.parts_->path), log_pages_(store.parts_->log_pages) {}
Syncer::~Syncer() = default;

Result<void> Syncer::sync() {
  if (auto opened = open_log(); !opened) return opened;
  if (auto written = unsure_ ? write_anew() : Result<void>(); !written) return written;
  unsure_ = true;
  if (::fdatasync(log_->get()) != 0) return not_on_disk(path_, files::why(errno));
  unsure_ = false;
  return {};
}

Result<void> Syncer::open_log() {
  if (!log_) {
    files::Descriptor log(::open((path_ + "-wal").c_str(), O_RDWR | O_CLOEXEC));
    if (!log.ok()) return not_on_disk(path_, files::why(errno));
    const auto folder = std::filesystem::path(path_).parent_path().string();
    if (auto named = files::sync_folder(folder.empty() ? "." : folder); !named) return named;
    log_ = std::move(log);
  }
  struct stat is{};
  if (::fstat(log_->get(), &is) != 0) return not_on_disk(path_, files::why(errno));
  if (is.st_nlink == 0) {
    return not_on_disk(path_, "its log (-wal) was removed by somebody; restart tangramd");
  }
  return {};
}

// The same bytes: those that the disk has lost are given to it again. If the kernel has forgotten
// them too, what is there is old, and must not pass for what was committed.
Result<void> Syncer::write_anew() const {
  const int frames = *log_pages_;
  if (whole_frames(log_->get()) < static_cast<std::uint32_t>(frames)) {
    return not_on_disk(path_, "it has lost what its log (-wal) held; restart tangramd");
  }
  std::vector<char> bytes(std::size_t{1} << 20U);
  off_t at = 0;
  while (true) {
    const ssize_t read = ::pread(log_->get(), bytes.data(), bytes.size(), at);
    if (read == 0) return {};
    if (read < 0) return not_on_disk(path_, files::why(errno));
    for (ssize_t done = 0; done < read;) {
      const auto left = static_cast<std::size_t>(read - done);
      const ssize_t count = ::pwrite(log_->get(), bytes.data() + done, left, at + done);
      if (count < 0) return not_on_disk(path_, files::why(errno));
      done += count;
    }
    at += read;
  }
}

// The first who commits after that begins the log anew and waits for the disk: better here than in
// the Store's thread. It must be something that SQLite really writes: a row that is set to what it
// was, it leaves alone; the header it does not.
Result<void> Syncer::shorten_log() {
  if (*log_pages_ < kLongLog) return {};
  try {
    if (!db_) {
      db_ = std::make_unique<SQLite::Database>(path_, SQLite::OPEN_READWRITE, kBusyMs);
      db_->exec("PRAGMA synchronous = FULL");
    }
    SQLite::Statement(*db_, "PRAGMA wal_checkpoint(PASSIVE)").executeStep();
    const int version = db_->execAndGet("PRAGMA user_version").getInt();
    db_->exec(cat("PRAGMA user_version = ", version));
    return {};
  } catch (const SQLite::Exception& error) {
    return std::unexpected(sqlite_error(error, "bring the log into", path_));
  }
}

}  // namespace tangram::store
