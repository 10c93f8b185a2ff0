// See workers.hpp.
#include "device/workers.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/text.hpp"

namespace tangram::device {
namespace {

RetryPolicy retry_within(const Workers::Limits& limits, const std::stop_token& stop) {
  RetryPolicy retry = limits.retry;
  retry.retry_for = std::min(retry.retry_for, limits.time / 4);
  retry.stop = stop;
  return retry;
}

Failure no_such_gpu(const std::string& gpu_uuid) {
  return make_failure(Failure::Kind::kNotThere, ErrorCode::kNotFound,
                      cat("GPU ", quoted(gpu_uuid), ": not found; see `tangram device list`."));
}

}  // namespace

Workers::Workers(std::shared_ptr<const Library> library, std::shared_ptr<OwnedInstances> owned,
                 const std::vector<Gpu>& gpus, OnReconciled on_reconciled)
    : library_(std::move(library)),
      owned_(std::move(owned)),
      on_reconciled_(std::move(on_reconciled)) {
  for (const Gpu& gpu : gpus) update(gpu);
}

// In parallel: a GPU that hangs must not delay the others.
Workers::~Workers() {
  std::vector<std::jthread> closing;
  for (const auto& [uuid, queue] : queues_) closing.emplace_back([&queue] { queue->close(); });
}

template <class T, class Change>
void Workers::submit(const std::string& gpu_uuid, const Limits& limits,
                     const std::function<void(Outcome<T>)>& done, const Change& change) {
  const std::shared_ptr<GpuQueue> queue = find_queue(gpu_uuid);
  if (queue == nullptr) {
    done(std::unexpected(no_such_gpu(gpu_uuid)));
    return;
  }
  queue->submit({.work = [=](const Gpu& gpu, const std::stop_token& stop) -> GpuQueue::Reply {
                   return
                       [done, result = change(gpu, retry_within(limits, stop))] { done(result); };
                 },
                 .reject = [done](Failure failure) { done(std::unexpected(std::move(failure))); },
                 .limit = limits.time});
}

void Workers::create(const std::string& gpu_uuid, mig::Placement placement, const Limits& limits,
                     const OnCreated& done) {
  submit<Instance>(
      gpu_uuid, limits, done,
      [library = library_, owned = owned_, placement](const Gpu& gpu, const RetryPolicy& retry) {
        return device::create(*library, gpu, placement, *owned, retry);
      });
}

void Workers::destroy(const std::string& gpu_uuid, const Instance& instance, const Limits& limits,
                      const OnDestroyed& done) {
  submit<void>(
      gpu_uuid, limits, done,
      [library = library_, owned = owned_, instance](const Gpu& gpu, const RetryPolicy& retry) {
        return device::destroy(*library, gpu, instance, *owned, retry);
      });
}

void Workers::release(const std::string& gpu_uuid, const std::vector<InstanceLocation>& locations,
                      const Limits& limits, const OnReleased& done) {
  submit<void>(gpu_uuid, limits, done,
               [owned = owned_, locations](const Gpu&, const RetryPolicy&) -> Outcome<void> {
                 for (const InstanceLocation& location : locations) {
                   const auto released = owned->release(location);
                   if (released) continue;
                   return std::unexpected(make_failure(
                       Failure::Kind::kFailed, released.error().code, released.error().message));
                 }
                 return {};
               });
}

void Workers::query_gpu(const std::string& gpu_uuid, std::chrono::milliseconds time,
                        const Query& query, const std::function<void(const Failure&)>& rejected) {
  const std::shared_ptr<GpuQueue> queue = find_queue(gpu_uuid);
  if (queue == nullptr) {
    rejected(no_such_gpu(gpu_uuid));
    return;
  }
  queue->submit({.work = [query](const Gpu&, const std::stop_token&) { return query(); },
                 .reject = rejected,
                 .limit = time});
}

void Workers::update(const Gpu& gpu) {
  if (gpu.uuid.empty()) return;  // lost before its UUID could be read
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<GpuQueue>& queue = queues_[gpu.uuid];
  if (queue != nullptr) {
    queue->update(gpu);
    return;
  }
  queue = std::make_shared<GpuQueue>(library_, gpu, on_reconciled_);
  queue->start();
}

bool Workers::is_responsive(const std::string& gpu_uuid) const {
  const auto queue = find_queue(gpu_uuid);
  return queue != nullptr && queue->is_responsive();
}

std::shared_ptr<GpuQueue> Workers::find_queue(const std::string& gpu_uuid) const {
  const std::scoped_lock lock(mutex_);
  const auto found = queues_.find(gpu_uuid);
  return found == queues_.end() ? nullptr : found->second;
}

}  // namespace tangram::device
