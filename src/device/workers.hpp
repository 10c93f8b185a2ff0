// Workers: changes to the GPUs of a node, or questions about them, in order on each GPU and at the
// same time on different ones, each within its time limit. They exist so that a driver that hangs
// on one GPU stops neither the program nor the other GPUs. One rule: the result of a call that came
// too late is never delivered; what stands on the GPU then is (Reconciled).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/change.hpp"
#include "device/lane.hpp"

namespace tangram::device {

class Workers {
 public:
  using OnCreated = std::function<void(Outcome<Instance>)>;
  using OnDestroyed = std::function<void(Outcome<void>)>;
  using OnReleased = std::function<void(Outcome<void>)>;
  // Asks the driver, and gives what tells the answer. It is left behind if the driver hangs, so it
  // has a share in all that it uses.
  using Question = std::function<std::function<void()>()>;
  struct Limits {
    // For a whole change; a GPU that takes longer is called unresponsive.
    std::chrono::milliseconds time{60'000};
    // For what is in use; a change may use it up three times (with its roll-back), so no more than
    // a quarter of `time` counts.
    Patience patience;
  };

  // Callbacks run on the threads of the workers, or on the caller's when a request is refused at
  // once. They must not block for long, and must not destroy the Workers.
  Workers(std::shared_ptr<const Library> library, std::shared_ptr<Owned> owned,
          const std::vector<Gpu>& gpus, OnReconciled on_reconciled);
  // Requests that wait are refused; those that run are waited for, up to their limit. There is no
  // callback afterwards.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  Workers(Workers&&) = delete;
  Workers& operator=(Workers&&) = delete;

  // Each is answered exactly once. kUnresponsive means: what was done is not known yet.
  void create(const std::string& gpu_uuid, mig::Placement placement, const Limits& limits,
              const OnCreated& done);
  void destroy(const std::string& gpu_uuid, const Instance& instance, const Limits& limits,
               const OnDestroyed& done);

  // Places of the GPU at which nothing stands any more: see Owned::gone. After the changes that
  // were asked for before, so that it takes back no claim of theirs.
  void release(const std::string& gpu_uuid, const std::vector<Place>& places, const Limits& limits,
               const OnReleased& done);
  void ask(const std::string& gpu_uuid, std::chrono::milliseconds time, const Question& question,
           const std::function<void(const Failure&)>& refused);

  // A GPU that was read anew (its MIG mode changed, it is back), or that was not there before.
  void update(const Gpu& gpu);
  [[nodiscard]] bool is_responsive(const std::string& gpu_uuid) const;

 private:
  [[nodiscard]] std::shared_ptr<Lane> lane(const std::string& gpu_uuid) const;
  template <class T, class Change>
  void submit(const std::string& gpu_uuid, const Limits& limits,
              const std::function<void(Outcome<T>)>& done, const Change& change);

  const std::shared_ptr<const Library> library_;
  const std::shared_ptr<Owned> owned_;
  const OnReconciled on_reconciled_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Lane>> lanes_;
};

}  // namespace tangram::device
