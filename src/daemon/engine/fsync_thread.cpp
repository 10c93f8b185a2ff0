// See fsync_thread.hpp.
#include "daemon/engine/fsync_thread.hpp"

#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include "base/check.hpp"

namespace tangram::daemon {

struct FsyncThread::Parts {
  Parts(boost::asio::io_context& the_loop, Work the_work)
      : loop(the_loop), work(std::move(the_work)) {}

  boost::asio::io_context& loop;
  Work work;          // on the thread only
  bool busy = false;  // on the loop only
  bool alive = true;  // on the loop only
  boost::asio::thread_pool thread{1};
};

FsyncThread::FsyncThread(boost::asio::io_context& loop, Work work)
    : parts_(std::make_shared<Parts>(loop, std::move(work))) {}

FsyncThread::~FsyncThread() {
  parts_->alive = false;
  parts_->thread.join();
}

bool FsyncThread::is_idle() const { return !parts_->busy; }

void FsyncThread::sync(std::function<void(const Result<void>&)> on_synced,
                       std::function<void(const Result<void>& checkpointed)> on_idle) {
  CHECK(!std::exchange(parts_->busy, true));
  const auto report = [weak = std::weak_ptr(parts_)](const auto& callback,
                                                     const Result<void>& result, bool last) {
    const auto parts = weak.lock();
    if (!parts || !parts->alive) return;
    if (last) parts->busy = false;
    callback(result);
  };
  // The thread may hold a reference: it is joined before the parts are destroyed. The work guard
  // keeps the loop running until the callbacks are posted.
  boost::asio::post(parts_->thread, [&parts = *parts_, report, on_synced = std::move(on_synced),
                                     on_idle = std::move(on_idle),
                                     busy = boost::asio::make_work_guard(parts_->loop)] {
    const Result<void> done = parts.work.sync();
    boost::asio::post(parts.loop, [=] { report(on_synced, done, false); });
    const Result<void> checkpointed = done ? parts.work.checkpoint() : Result<void>();
    boost::asio::post(parts.loop, [=] { report(on_idle, checkpointed, true); });
  });
}

}  // namespace tangram::daemon
