// See hardware.hpp: looking at the GPUs, off the loop and at each by itself, so that a driver that
// hangs over one leaves the others seen. One rule: a sight counts only if no change of ours was
// under way on that GPU while it was taken.
#include <utility>

#include <boost/asio/post.hpp>

#include "base/text.hpp"
#include "daemon/hardware.hpp"
#include "daemon/hardware_threads.hpp"
#include "device/activity.hpp"
#include "device/gpus.hpp"
#include "device/instances.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::milliseconds kSoon{100};

Sight look_at(const device::Library& library, const std::string& uuid) {
  Sight sight;
  sight.gpu.uuid = uuid;
  auto gpu = device::read_gpu(library, uuid);
  if (!gpu) {
    sight.gpu.health = gpu.error().kind == device::Failure::Kind::kLost
                           ? device::Health::kLost
                           : device::Health::kUnreadable;
    sight.trouble = gpu.error().error.message;
    return sight;
  }
  sight.gpu = *std::move(gpu);
  sight.trouble = sight.gpu.trouble;
  if (sight.gpu.health != device::Health::kOk || !sight.gpu.model) return sight;
  auto instances = device::list_instances(library, sight.gpu);
  if (!instances) {
    sight.trouble = instances.error().error.message;
    return sight;
  }
  sight.instances = *std::move(instances);
  if (auto processes = device::processes(library, uuid)) sight.processes = *std::move(processes);
  return sight;
}

// None: could not look.
std::optional<std::vector<unsigned>> pids_in(const device::Library& library,
                                             const std::string& uuid, unsigned gi) {
  const auto found = device::processes(library, uuid, gi);
  if (!found) return std::nullopt;
  std::vector<unsigned> pids;
  for (const device::Process& each : *found) pids.push_back(each.pid);
  return pids;
}

}  // namespace

void Hardware::look_around() {
  for (const device::Gpu& gpu : gpus_) look(gpu.uuid);
}

// One look at a time; a wish for another one meanwhile is granted afterwards.
void Hardware::look(const std::string& uuid) {
  if (uuid.empty()) return;  // lost before it could be named
  Threads::Look& its = threads_->looks.try_emplace(uuid, loop_).first->second;
  if (std::exchange(its.is_out, true)) {
    its.again = true;
    return;
  }
  const auto question = [this, alive = alive_, library = library_, uuid,
                         changes = changes_of(uuid)]() -> std::function<void()> {
    return [this, alive, changes, sight = look_at(*library, uuid)] {
      boost::asio::post(loop_, [this, alive, changes, sight] {
        if (*alive) looked(sight, changes);
      });
    };
  };
  const auto refused = [this, alive = alive_, uuid](const device::Failure& failure) {
    boost::asio::post(loop_, [this, alive, uuid, failure] {
      if (!*alive) return;
      not_looked(uuid, failure);
      look_later(uuid);
    });
  };
  lookers_->ask(uuid, options_.change_time, question, refused);
}

// How many were begun; none while one is under way, or if it is not the scheduler's.
std::optional<std::uint64_t> Hardware::changes_of(const std::string& uuid) const {
  const auto at = ids_.find(uuid);
  if (at == ids_.end() || changing(at->second)) return std::nullopt;
  const auto begun = changes_begun_.find(at->second.value());
  return begun == changes_begun_.end() ? 0 : begun->second;
}

void Hardware::looked(const Sight& sight, std::optional<std::uint64_t> changes) {
  const bool is_ours = id_of(sight.gpu.uuid) && sight.gpu.health == device::Health::kOk;
  if (!is_ours || (changes && changes == changes_of(sight.gpu.uuid))) seen(sight);
  look_later(sight.gpu.uuid);
}

void Hardware::look_later(const std::string& uuid) {
  Threads::Look& its = threads_->looks.at(uuid);
  its.is_out = false;
  const bool soon = std::exchange(its.again, false) && engine_.store_trouble().empty();
  its.next.expires_after(soon ? kSoon : options_.observe_every);
  its.next.async_wait([this, alive = alive_, uuid](const boost::system::error_code& stopped) {
    if (!stopped && *alive) look(uuid);
  });
}

// A driver that hangs cannot be left, but it can be said where it does.
void Hardware::not_looked(const std::string& uuid, const device::Failure& failure) {
  const auto id = id_of(uuid);
  if (!id || failure.kind != device::Failure::Kind::kUnresponsive) return;
  set_health(*id, core::Health::kUnresponsive, cat("the driver does not answer about ", uuid));
}

// In one that is gone, nobody is.
void Hardware::occupants(
    core::GpuId gpu, core::InstanceId instance,
    const std::function<void(const std::optional<std::vector<unsigned>>&)>& told) {
  const auto at = instances_.find(instance.value());
  if (at == instances_.end()) {
    boost::asio::post(loop_, [told] { told(std::vector<unsigned>()); });
    return;
  }
  const std::string uuid = uuid_of(gpu);
  const auto question = [this, alive = alive_, told, library = library_, uuid,
                         gi = at->second.gi]() -> std::function<void()> {
    return [this, alive, told, pids = pids_in(*library, uuid, gi)] {
      boost::asio::post(loop_, [alive, told, pids] {
        if (*alive) told(pids);
      });
    };
  };
  const auto refused = [this, alive = alive_, told, uuid](const device::Failure& failure) {
    boost::asio::post(loop_, [this, alive, told, uuid, failure] {
      if (!*alive) return;
      not_looked(uuid, failure);
      told(std::nullopt);
    });
  };
  lookers_->ask(uuid, options_.change_time, question, refused);
}

}  // namespace tangram::daemon
