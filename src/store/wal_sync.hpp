// WalSync: makes a Store's commits durable (fdatasync of the write-ahead log) and checkpoints the
// WAL before it grows long. Both block on the disk, so they run on a thread of their own; the Store
// must not commit meanwhile. When sync() succeeds, everything committed before the call is durable.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "os/descriptor.hpp"

namespace tangram::store {

class Store;

// Used by one thread at a time, not necessarily the Store's. May outlive the Store, but
// sync() and checkpoint() must not be called any more then.
class WalSync {
 public:
  explicit WalSync(const Store& store);
  ~WalSync();
  WalSync(const WalSync&) = delete;
  WalSync& operator=(const WalSync&) = delete;
  WalSync(WalSync&&) = delete;
  WalSync& operator=(WalSync&&) = delete;

  // May be retried after a failure. After a failed fdatasync the kernel may report success the next
  // time without having written the data, so the whole WAL is then rewritten first; also on the
  // first call, because an earlier process may have failed.
  [[nodiscard]] Result<void> sync();
  // Moves the WAL into the database if it is long. A failure loses nothing; the WAL keeps growing.
  [[nodiscard]] Result<void> checkpoint();

 private:
  struct Connection;

  [[nodiscard]] Result<void> open_wal();
  [[nodiscard]] Result<void> rewrite_wal() const;

  std::string path_;
  std::shared_ptr<const std::atomic<int>> wal_pages_;
  std::optional<os::Descriptor> wal_;
  std::unique_ptr<Connection> connection_;  // opened by the first checkpoint
  bool must_rewrite_ = true;                // no fdatasync succeeded yet, or the last one failed
};

}  // namespace tangram::store
