// See disk.hpp.
#include "daemon/disk.hpp"

#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include "base/check.hpp"

namespace tangram::daemon {

struct Disk::Parts {
  Parts(boost::asio::io_context& the_loop, Sync the_sync)
      : loop(the_loop), sync(std::move(the_sync)) {}

  boost::asio::io_context& loop;
  Sync sync;            // in the thread only
  bool busy = false;    // on the loop only
  bool closed = false;  // on the loop only
  boost::asio::thread_pool thread{1};
};

Disk::Disk(boost::asio::io_context& loop, Sync sync)
    : parts_(std::make_shared<Parts>(loop, std::move(sync))) {}

Disk::~Disk() {
  parts_->closed = true;
  parts_->thread.join();
}

void Disk::sync(std::function<void(Result<store::Synced>)> then) {
  CHECK(!std::exchange(parts_->busy, true));
  // By reference in the thread: the parts are there until it was joined. The loop has work as long.
  boost::asio::post(parts_->thread,
                    [&parts = *parts_, weak = std::weak_ptr(parts_), then = std::move(then),
                     work = boost::asio::make_work_guard(parts_->loop)]() mutable {
                      auto done = std::make_shared<Result<store::Synced>>(parts.sync());
                      boost::asio::post(parts.loop, [weak, done, then = std::move(then)] {
                        const auto there = weak.lock();
                        if (!there || there->closed) return;
                        there->busy = false;
                        then(std::move(*done));
                      });
                    });
}

}  // namespace tangram::daemon
