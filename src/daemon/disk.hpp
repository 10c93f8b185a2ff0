// Disk: a thread that waits for the disk, so that the loop does not: callers are answered also
// while it is slow. One rule: one wait at a time, and what came of it is told on the loop.
#pragma once

#include <functional>
#include <memory>

#include "base/error.hpp"
#include "store/syncer.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

class Disk {
 public:
  using Sync = std::function<Result<store::Synced>()>;
  // `sync` is called in the thread.
  Disk(boost::asio::io_context& loop, Sync sync);
  ~Disk();  // awaits the sync that is under way, and tells nobody
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  Disk(Disk&&) = delete;
  Disk& operator=(Disk&&) = delete;

  void sync(std::function<void(Result<store::Synced>)> then);

 private:
  struct Parts;
  std::shared_ptr<Parts> parts_;
};

}  // namespace tangram::daemon
