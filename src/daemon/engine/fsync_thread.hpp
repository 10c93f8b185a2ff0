// FsyncThread: runs fsync off the event loop, so that callers are served while the disk is slow.
// One sync is in flight at a time; after it the write-ahead log is checkpointed. All members are
// called on the loop.
#pragma once

#include <functional>
#include <memory>

#include "base/error.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

class FsyncThread {
 public:
  // Both run on the thread.
  struct Work {
    std::function<Result<void>()> sync;        // returns when all commits are durable
    std::function<Result<void>()> checkpoint;  // runs after each successful sync
  };
  FsyncThread(boost::asio::io_context& loop, Work work);
  ~FsyncThread();  // joins the thread; pending callbacks are not called
  FsyncThread(const FsyncThread&) = delete;
  FsyncThread& operator=(const FsyncThread&) = delete;
  FsyncThread(FsyncThread&&) = delete;
  FsyncThread& operator=(FsyncThread&&) = delete;

  // Starts a sync; the thread must be idle. Both callbacks are called on the loop: `on_synced` when
  // the sync has returned, then `on_idle` when the checkpoint has, too. Nothing may be committed
  // before `on_idle`.
  void sync(std::function<void(const Result<void>&)> on_synced,
            std::function<void(const Result<void>& checkpointed)> on_idle);
  [[nodiscard]] bool is_idle() const;

 private:
  struct Parts;
  std::shared_ptr<Parts> parts_;
};

}  // namespace tangram::daemon
