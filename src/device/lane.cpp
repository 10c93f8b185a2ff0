// See lane.hpp.
#include "device/lane.hpp"

#include <utility>

#include "base/check.hpp"
#include "base/text.hpp"
#include "device/instances.hpp"

namespace tangram::device {

Lane::Lane(std::shared_ptr<const Library> library, Gpu gpu, OnReconciled on_reconciled)
    : library_(std::move(library)),
      on_reconciled_(std::move(on_reconciled)),
      gpu_uuid_(gpu.uuid),
      gpu_(std::move(gpu)) {}

// The worker holds the lane, because it may outlive whoever closes it.
void Lane::start() {
  worker_ = std::thread([self = shared_from_this()] { self->work(); });
  watchdog_ = std::thread([this] { watch(); });
}

void Lane::submit(Request request) {
  if (auto refusal = enqueue(request)) request.refuse(*std::move(refusal));
}

// Takes the request, or says why not.
std::optional<Failure> Lane::enqueue(Request& request) {
  const std::scoped_lock lock(mutex_);
  if (is_closing_) return closing();
  if (is_given_up_) return unresponsive();
  queue_.push_back(std::move(request));
  changed_.notify_all();
  return std::nullopt;
}

void Lane::update(const Gpu& gpu) {
  CHECK(gpu.uuid == gpu_uuid_);
  const std::scoped_lock lock(mutex_);
  gpu_ = gpu;
}

bool Lane::is_responsive() const {
  const std::scoped_lock lock(mutex_);
  return !is_given_up_;
}

void Lane::work() {
  while (auto request = next()) {
    Gpu gpu;
    {
      const std::scoped_lock lock(mutex_);
      gpu = gpu_;
    }
    const Answer answer = request->work(gpu, stop_.get_token());
    if (finish()) {
      answer();
    } else {
      reconcile();
    }
  }
  const std::scoped_lock lock(mutex_);
  is_over_ = true;
  changed_.notify_all();
}

std::optional<Lane::Request> Lane::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_closing_ || !queue_.empty(); });
  if (queue_.empty()) return std::nullopt;
  Request request = std::move(queue_.front());
  queue_.pop_front();
  running_ = Running{.deadline = Clock::now() + request.limit, .refuse = request.refuse};
  changed_.notify_all();
  return request;
}

// Whether the result is still wanted. Refusals that are being told come before anything else is.
bool Lane::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !is_telling_; });
  running_.reset();
  changed_.notify_all();
  return !is_given_up_;
}

void Lane::reconcile() {
  Gpu gpu;
  {
    const std::scoped_lock lock(mutex_);
    gpu = gpu_;
  }
  const Reconciled seen{.gpu_uuid = gpu_uuid_, .instances = look(*library_, gpu)};
  {
    const std::scoped_lock lock(mutex_);
    if (is_closed_) return;
    is_given_up_ = false;
    is_telling_ = true;
  }
  if (on_reconciled_) on_reconciled_(seen);
  const std::scoped_lock lock(mutex_);
  is_telling_ = false;
  changed_.notify_all();
}

void Lane::watch() {
  std::unique_lock lock(mutex_);
  while (!is_over_ && !is_closed_) {
    if (!running_ || is_given_up_) {
      changed_.wait(lock);
      continue;
    }
    const Clock::time_point deadline = running_->deadline;
    if (Clock::now() < deadline) {
      changed_.wait_until(lock, deadline);
      continue;
    }
    const Refusals refusals = give_up();
    lock.unlock();
    for (const auto& refuse : refusals) refuse(unresponsive());
    lock.lock();
    is_telling_ = false;
    changed_.notify_all();
  }
}

// With the mutex held: whoever runs or waits is to be told that the GPU does not respond.
Lane::Refusals Lane::give_up() {
  is_given_up_ = true;
  is_telling_ = true;
  Refusals refusals{std::move(running_->refuse)};
  for (Request& request : queue_) refusals.push_back(std::move(request.refuse));
  queue_.clear();
  return refusals;
}

void Lane::close() {
  std::deque<Request> waiting;
  {
    const std::scoped_lock lock(mutex_);
    is_closing_ = true;
    waiting.swap(queue_);
    changed_.notify_all();
  }
  stop_.request_stop();
  for (const Request& request : waiting) request.refuse(closing());
  bool hangs = false;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_over_ || (is_given_up_ && !is_telling_); });
    is_closed_ = true;
    hangs = !is_over_;
    changed_.notify_all();
  }
  watchdog_.join();
  if (hangs) {
    worker_.detach();
  } else {
    worker_.join();
  }
}

Failure Lane::unresponsive() const {
  return make_failure(Failure::Kind::kUnresponsive, ErrorCode::kUnavailable,
                      cat("gave up waiting for ", gpu_uuid_,
                          ": the driver does not return from a call. What it did will be seen when "
                          "it does; if it never does, look at the kernel log and reset the GPU."));
}

Failure Lane::closing() const {
  Failure failure =
      make_failure(Failure::Kind::kFailed, ErrorCode::kUnavailable,
                   cat("nothing was changed on ", gpu_uuid_, ": Tangram is stopping."));
  failure.left = Failure::Left::kNothing;
  return failure;
}

}  // namespace tangram::device
