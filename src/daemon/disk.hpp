// Disk: a thread that waits for the disk, so that the loop does not: callers are answered also
// while it is slow. It puts a batch on the disk, tells so, tidies up behind it and is free for the
// next one. One rule: one batch at a time, and what came of it is told on the loop.
#pragma once

#include <functional>
#include <memory>

#include "base/error.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

class Disk {
 public:
  // Called in the thread.
  struct Work {
    std::function<Result<void>()> sync;
    std::function<Result<void>()> tidy;
  };
  Disk(boost::asio::io_context& loop, Work work);
  ~Disk();  // awaits what is under way, and tells nobody
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  Disk(Disk&&) = delete;
  Disk& operator=(Disk&&) = delete;

  // `free` comes after `synced`: until then nothing may be committed and no other sync be asked
  // for.
  void sync(std::function<void(const Result<void>&)> synced,
            std::function<void(const Result<void>& tidied)> free);
  [[nodiscard]] bool is_free() const;

 private:
  struct Parts;
  std::shared_ptr<Parts> parts_;
};

}  // namespace tangram::daemon
