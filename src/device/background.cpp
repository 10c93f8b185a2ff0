// See background.hpp.
#include "device/background.hpp"

#include <condition_variable>
#include <mutex>
#include <utility>

namespace tangram::device {

struct Background::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_over = false;
};

Background::Background(Work work) : state_(std::make_shared<State>()) {
  thread_ = std::thread([state = state_, token = stop_.get_token(), work = std::move(work)] {
    work(token);
    const std::scoped_lock lock(state->mutex);
    state->is_over = true;
    state->changed.notify_all();
  });
}

void Background::stop(std::chrono::milliseconds grace) {
  if (!thread_.joinable()) return;
  stop_.request_stop();
  std::unique_lock lock(state_->mutex);
  const bool is_over = state_->changed.wait_for(lock, grace, [&] { return state_->is_over; });
  lock.unlock();
  if (is_over) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

}  // namespace tangram::device
