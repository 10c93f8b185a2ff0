// Workers: changes to and queries of the GPUs of a node: in order on each GPU, in parallel on
// different ones, each within its time limit, so that a driver that hangs on one GPU blocks neither
// the program nor the other GPUs. A result that arrives after its limit is not delivered; the GPU's
// instances are (Reconciled).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/change.hpp"
#include "device/gpu_queue.hpp"

namespace tangram::device {

class Workers {
 public:
  using OnCreated = std::function<void(Outcome<Instance>)>;
  using OnDestroyed = std::function<void(Outcome<void>)>;
  using OnReleased = std::function<void(Outcome<void>)>;
  // Queries the driver and returns the function that delivers the answer. It may outlive the
  // Workers if the driver hangs, so it owns or shares everything it uses.
  using Query = std::function<std::function<void()>()>;
  struct Limits {
    // For a whole change; a GPU that takes longer counts as unresponsive.
    std::chrono::milliseconds time{60'000};
    // For calls that return "in use". A change may use it up three times (with its roll-back), so
    // at most a quarter of `time` is used.
    RetryPolicy retry;
  };

  // Callbacks run on the worker threads, or on the caller's if a request is rejected at once. They
  // must not block for long, and must not destroy the Workers.
  Workers(std::shared_ptr<const Library> library, std::shared_ptr<OwnedInstances> owned,
          const std::vector<Gpu>& gpus, OnReconciled on_reconciled);
  // Rejects queued requests and waits for running ones, up to their limit. No callback afterwards.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  Workers(Workers&&) = delete;
  Workers& operator=(Workers&&) = delete;

  // Each calls `done` exactly once. kUnresponsive: the effect is not known yet.
  void create(const std::string& gpu_uuid, mig::Placement placement, const Limits& limits,
              const OnCreated& done);
  void destroy(const std::string& gpu_uuid, const Instance& instance, const Limits& limits,
               const OnDestroyed& done);

  // Releases locations at which no instance is any more (OwnedInstances::gone). Queued behind
  // earlier changes, so that their claims are not released.
  void release(const std::string& gpu_uuid, const std::vector<InstanceLocation>& locations,
               const Limits& limits, const OnReleased& done);
  void query_gpu(const std::string& gpu_uuid, std::chrono::milliseconds time, const Query& query,
                 const std::function<void(const Failure&)>& rejected);

  // Takes a GPU that was read again (MIG mode changed, GPU is back) or is new.
  void update(const Gpu& gpu);
  [[nodiscard]] bool is_responsive(const std::string& gpu_uuid) const;

 private:
  [[nodiscard]] std::shared_ptr<GpuQueue> find_queue(const std::string& gpu_uuid) const;
  template <class T, class Change>
  void submit(const std::string& gpu_uuid, const Limits& limits,
              const std::function<void(Outcome<T>)>& done, const Change& change);

  const std::shared_ptr<const Library> library_;
  const std::shared_ptr<OwnedInstances> owned_;
  const OnReconciled on_reconciled_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<GpuQueue>> queues_;
};

}  // namespace tangram::device
