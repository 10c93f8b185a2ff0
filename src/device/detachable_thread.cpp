// See detachable_thread.hpp.
#include "device/detachable_thread.hpp"

#include <condition_variable>
#include <mutex>
#include <utility>

namespace tangram::device {

struct DetachableThread::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool has_ended = false;
};

DetachableThread::DetachableThread(Work work) : state_(std::make_shared<State>()) {
  thread_ = std::thread([state = state_, token = stop_.get_token(), work = std::move(work)] {
    work(token);
    const std::scoped_lock lock(state->mutex);
    state->has_ended = true;
    state->changed.notify_all();
  });
}

void DetachableThread::stop(std::chrono::milliseconds grace) {
  if (!thread_.joinable()) return;
  stop_.request_stop();
  std::unique_lock lock(state_->mutex);
  const bool has_ended = state_->changed.wait_for(lock, grace, [&] { return state_->has_ended; });
  lock.unlock();
  if (has_ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

}  // namespace tangram::device
