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
  Parts(boost::asio::io_context& the_loop, Work the_work)
      : loop(the_loop), work(std::move(the_work)) {}

  boost::asio::io_context& loop;
  Work work;          // in the thread only
  bool busy = false;  // on the loop only
  bool alive = true;  // on the loop only
  boost::asio::thread_pool thread{1};
};

Disk::Disk(boost::asio::io_context& loop, Work work)
    : parts_(std::make_shared<Parts>(loop, std::move(work))) {}

Disk::~Disk() {
  parts_->alive = false;
  parts_->thread.join();
}

bool Disk::is_free() const { return !parts_->busy; }

void Disk::sync(std::function<void(const Result<void>&)> synced,
                std::function<void(const Result<void>& tidied)> free) {
  CHECK(!std::exchange(parts_->busy, true));
  const auto tell = [weak = std::weak_ptr(parts_)](auto what, const Result<void>& done, bool last) {
    const auto there = weak.lock();
    if (!there || !there->alive) return;
    if (last) there->busy = false;
    what(done);
  };
  // By reference in the thread: the parts are there until it was joined. The loop has work as long.
  boost::asio::post(parts_->thread,
                    [&parts = *parts_, tell, synced = std::move(synced), free = std::move(free),
                     busy = boost::asio::make_work_guard(parts_->loop)] {
                      const Result<void> done = parts.work.sync();
                      boost::asio::post(parts.loop, [=] { tell(synced, done, false); });
                      const Result<void> tidied = done ? parts.work.tidy() : Result<void>();
                      boost::asio::post(parts.loop, [=] { tell(free, tidied, true); });
                    });
}

}  // namespace tangram::daemon
