// See gpu_queue.hpp.
#include "device/gpu_queue.hpp"

#include <utility>

#include "base/check.hpp"
#include "base/text.hpp"
#include "device/instances.hpp"

namespace tangram::device {

GpuQueue::GpuQueue(std::shared_ptr<const Library> library, Gpu gpu, OnReconciled on_reconciled)
    : library_(std::move(library)),
      on_reconciled_(std::move(on_reconciled)),
      gpu_uuid_(gpu.uuid),
      gpu_(std::move(gpu)) {}

// The worker shares ownership: if it hangs, it outlives close().
void GpuQueue::start() {
  worker_ = std::thread([self = shared_from_this()] { self->run_worker(); });
  watchdog_ = std::thread([this] { run_watchdog(); });
}

void GpuQueue::submit(Request request) {
  if (auto why = try_enqueue(request)) request.reject(*std::move(why));
}

// Queues the request (moved from), or returns why it is rejected.
std::optional<Failure> GpuQueue::try_enqueue(Request& request) {
  const std::scoped_lock lock(mutex_);
  if (is_closing_) return closing();
  if (is_given_up_) return unresponsive();
  queue_.push_back(std::move(request));
  changed_.notify_all();
  return std::nullopt;
}

void GpuQueue::update(const Gpu& gpu) {
  CHECK(gpu.uuid == gpu_uuid_);
  const std::scoped_lock lock(mutex_);
  gpu_ = gpu;
}

bool GpuQueue::is_responsive() const {
  const std::scoped_lock lock(mutex_);
  return !is_given_up_;
}

void GpuQueue::run_worker() {
  while (auto request = next()) {
    Gpu gpu;
    {
      const std::scoped_lock lock(mutex_);
      gpu = gpu_;
    }
    const Reply reply = request->work(gpu, stop_.get_token());
    if (finish()) {
      reply();
    } else {
      report_instances();
    }
  }
  const std::scoped_lock lock(mutex_);
  worker_ended_ = true;
  changed_.notify_all();
}

std::optional<GpuQueue::Request> GpuQueue::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_closing_ || !queue_.empty(); });
  if (queue_.empty()) return std::nullopt;
  Request request = std::move(queue_.front());
  queue_.pop_front();
  running_ = Running{.deadline = Clock::now() + request.limit, .reject = request.reject};
  changed_.notify_all();
  return request;
}

// True: deliver the result. False: the request was rejected by the watchdog. Waits for rejections
// in progress, so that they are delivered before any later callback.
bool GpuQueue::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !in_callback_; });
  running_.reset();
  changed_.notify_all();
  return !is_given_up_;
}

void GpuQueue::report_instances() {
  Gpu gpu;
  {
    const std::scoped_lock lock(mutex_);
    gpu = gpu_;
  }
  const Reconciled seen{.gpu_uuid = gpu_uuid_,
                        .instances = list_instances_with_retry(*library_, gpu)};
  {
    const std::scoped_lock lock(mutex_);
    if (is_closed_) return;
    is_given_up_ = false;
    in_callback_ = true;
  }
  if (on_reconciled_) on_reconciled_(seen);
  const std::scoped_lock lock(mutex_);
  in_callback_ = false;
  changed_.notify_all();
}

void GpuQueue::run_watchdog() {
  std::unique_lock lock(mutex_);
  while (!worker_ended_ && !is_closed_) {
    if (!running_ || is_given_up_) {
      changed_.wait(lock);
      continue;
    }
    const Clock::time_point deadline = running_->deadline;
    if (Clock::now() < deadline) {
      changed_.wait_until(lock, deadline);
      continue;
    }
    const Rejections rejections = give_up();
    lock.unlock();
    for (const auto& reject : rejections) reject(unresponsive());
    lock.lock();
    in_callback_ = false;
    changed_.notify_all();
  }
}

// Takes the rejections of the running and the queued requests. `mutex_` is held.
GpuQueue::Rejections GpuQueue::give_up() {
  is_given_up_ = true;
  in_callback_ = true;
  Rejections rejections{std::move(running_->reject)};
  for (Request& request : queue_) rejections.push_back(std::move(request.reject));
  queue_.clear();
  return rejections;
}

void GpuQueue::close() {
  std::deque<Request> waiting;
  {
    const std::scoped_lock lock(mutex_);
    is_closing_ = true;
    waiting.swap(queue_);
    changed_.notify_all();
  }
  stop_.request_stop();
  for (const Request& request : waiting) request.reject(closing());
  bool hangs = false;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return worker_ended_ || (is_given_up_ && !in_callback_); });
    is_closed_ = true;
    hangs = !worker_ended_;
    changed_.notify_all();
  }
  watchdog_.join();
  if (hangs) {
    worker_.detach();
  } else {
    worker_.join();
  }
}

Failure GpuQueue::unresponsive() const {
  return make_failure(Failure::Kind::kUnresponsive, ErrorCode::kUnavailable,
                      cat(gpu_uuid_,
                          ": timed out: the driver does not return from a call. The GPU is read "
                          "again once it does; if it never does, check the kernel log (dmesg) and "
                          "reset the GPU."));
}

Failure GpuQueue::closing() const {
  Failure failure =
      make_failure(Failure::Kind::kFailed, ErrorCode::kUnavailable,
                   cat("nothing was changed on ", gpu_uuid_, ": Tangram is stopping."));
  failure.leftover = Failure::Leftover::kNothing;
  return failure;
}

}  // namespace tangram::device
