// See workers.hpp.
#include "device/workers.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/text.hpp"

namespace tangram::device {
namespace {

Patience patience_within(const Workers::Limits& limits, const std::stop_token& stop) {
  Patience patience = limits.patience;
  patience.retry_for = std::min(patience.retry_for, limits.time / 4);
  patience.stop = stop;
  return patience;
}

Failure no_such_gpu(const std::string& gpu_uuid) {
  return make_failure(
      Failure::Kind::kNotThere, ErrorCode::kNotFound,
      cat("there is no GPU ", quoted(gpu_uuid), " to be changed or asked about. List the GPUs."));
}

}  // namespace

Workers::Workers(std::shared_ptr<const Library> library, std::shared_ptr<Owned> owned,
                 const std::vector<Gpu>& gpus, OnReconciled on_reconciled)
    : library_(std::move(library)),
      owned_(std::move(owned)),
      on_reconciled_(std::move(on_reconciled)) {
  for (const Gpu& gpu : gpus) update(gpu);
}

// All at once: one GPU that hangs must not make the others wait for it.
Workers::~Workers() {
  std::vector<std::jthread> closing;
  for (const auto& [uuid, lane] : lanes_) closing.emplace_back([&lane] { lane->close(); });
}

template <class T, class Change>
void Workers::submit(const std::string& gpu_uuid, const Limits& limits,
                     const std::function<void(Outcome<T>)>& done, const Change& change) {
  const std::shared_ptr<Lane> its_lane = lane(gpu_uuid);
  if (its_lane == nullptr) {
    done(std::unexpected(no_such_gpu(gpu_uuid)));
    return;
  }
  its_lane->submit(
      {.work = [=](const Gpu& gpu, const std::stop_token& stop) -> Lane::Answer {
         return [done, result = change(gpu, patience_within(limits, stop))] { done(result); };
       },
       .refuse = [done](Failure failure) { done(std::unexpected(std::move(failure))); },
       .limit = limits.time});
}

void Workers::create(const std::string& gpu_uuid, mig::Placement placement, const Limits& limits,
                     const OnCreated& done) {
  submit<Instance>(
      gpu_uuid, limits, done,
      [library = library_, owned = owned_, placement](const Gpu& gpu, const Patience& patience) {
        return device::create(*library, gpu, placement, *owned, patience);
      });
}

void Workers::destroy(const std::string& gpu_uuid, const Instance& instance, const Limits& limits,
                      const OnDestroyed& done) {
  submit<void>(
      gpu_uuid, limits, done,
      [library = library_, owned = owned_, instance](const Gpu& gpu, const Patience& patience) {
        return device::destroy(*library, gpu, instance, *owned, patience);
      });
}

void Workers::release(const std::string& gpu_uuid, const std::vector<Place>& places,
                      const Limits& limits, const OnReleased& done) {
  submit<void>(gpu_uuid, limits, done,
               [owned = owned_, places](const Gpu&, const Patience&) -> Outcome<void> {
                 for (const Place& place : places) {
                   const auto released = owned->release(place);
                   if (released) continue;
                   return std::unexpected(make_failure(
                       Failure::Kind::kFailed, released.error().code, released.error().message));
                 }
                 return {};
               });
}

void Workers::ask(const std::string& gpu_uuid, std::chrono::milliseconds time,
                  const Question& question, const std::function<void(const Failure&)>& refused) {
  const std::shared_ptr<Lane> its_lane = lane(gpu_uuid);
  if (its_lane == nullptr) return refused(no_such_gpu(gpu_uuid));
  its_lane->submit({.work = [question](const Gpu&, const std::stop_token&) { return question(); },
                    .refuse = refused,
                    .limit = time});
}

void Workers::update(const Gpu& gpu) {
  if (gpu.uuid.empty()) return;  // lost before it could be named
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<Lane>& its_lane = lanes_[gpu.uuid];
  if (its_lane != nullptr) {
    its_lane->update(gpu);
    return;
  }
  its_lane = std::make_shared<Lane>(library_, gpu, on_reconciled_);
  its_lane->start();
}

bool Workers::is_responsive(const std::string& gpu_uuid) const {
  const auto its_lane = lane(gpu_uuid);
  return its_lane != nullptr && its_lane->is_responsive();
}

std::shared_ptr<Lane> Workers::lane(const std::string& gpu_uuid) const {
  const std::scoped_lock lock(mutex_);
  const auto found = lanes_.find(gpu_uuid);
  return found == lanes_.end() ? nullptr : found->second;
}

}  // namespace tangram::device
