// See hardware.hpp: polls the GPUs on worker threads, each GPU on its own, so that a driver call
// that hangs for one GPU does not hold up the others. A snapshot is discarded if a change was in
// flight on its GPU while it was taken.
#include <utility>

#include <boost/asio/post.hpp>

#include "base/text.hpp"
#include "daemon/gpus/hardware.hpp"
#include "daemon/gpus/poll_state.hpp"
#include "device/activity.hpp"
#include "device/gpus.hpp"
#include "device/instances.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::milliseconds kRepollDelay{100};  // of a repeated poll

// `enable_mig`: switch MIG mode on if it is off.
GpuSnapshot take_snapshot(const device::Library& library, const std::string& uuid,
                          bool enable_mig) {
  GpuSnapshot snapshot;
  snapshot.gpu.uuid = uuid;
  auto gpu = device::read_gpu(library, uuid);
  if (!gpu) {
    snapshot.gpu.health = gpu.error().kind == device::Failure::Kind::kLost
                              ? device::Health::kLost
                              : device::Health::kUnreadable;
    snapshot.trouble = gpu.error().error.message;
    return snapshot;
  }
  snapshot.gpu = *std::move(gpu);
  if (enable_mig && is_mig_off(snapshot.gpu)) {
    snapshot.mig_failure = switch_mig_on(library, snapshot.gpu);
  }
  snapshot.trouble = snapshot.gpu.trouble;
  if (snapshot.gpu.health != device::Health::kOk || !snapshot.gpu.model) return snapshot;
  auto instances = device::list_instances(library, snapshot.gpu);
  if (!instances) {
    snapshot.trouble = instances.error().error.message;
    return snapshot;
  }
  snapshot.instances = *std::move(instances);
  if (auto processes = device::processes(library, uuid)) snapshot.processes = *std::move(processes);
  return snapshot;
}

// Blocks; nullopt: they could not be listed.
std::optional<std::vector<unsigned>> read_pids(const device::Library& library,
                                               const std::string& uuid, unsigned gi) {
  const auto found = device::processes(library, uuid, gi);
  if (!found) return std::nullopt;
  std::vector<unsigned> pids;
  for (const device::Process& each : *found) pids.push_back(each.pid);
  return pids;
}

}  // namespace

void Hardware::poll_all() {
  for (const device::Gpu& gpu : gpus_) poll(gpu.uuid);
}

// One poll of a GPU at a time. A request during a poll repeats it afterwards.
void Hardware::poll(const std::string& uuid) {
  if (uuid.empty()) return;  // the GPU was lost before its UUID was read
  PollState::GpuPoll& state = poll_state_->of(uuid, loop_);
  if (std::exchange(state.is_in_flight, true)) {
    state.repeat = true;
    return;
  }
  const auto read = [this, alive = alive_, library = library_, uuid,
                     enable_mig = is_mig_attempt_due(uuid),
                     changes = change_count(uuid)]() -> std::function<void()> {
    return [this, alive, changes, snapshot = take_snapshot(*library, uuid, enable_mig)] {
      boost::asio::post(loop_, [this, alive, changes, snapshot] {
        if (*alive) on_polled(snapshot, changes);
      });
    };
  };
  const auto on_failure = [this, alive = alive_, uuid](const device::Failure& failure) {
    boost::asio::post(loop_, [this, alive, uuid, failure] {
      if (!*alive) return;
      poll_failed(uuid, failure);
      schedule_poll(uuid);
    });
  };
  pollers_->query_gpu(uuid, options_.change_time, read, on_failure);
}

// How many changes were begun on the GPU; nullopt while one is in flight or if the GPU is not the
// scheduler's.
std::optional<std::uint64_t> Hardware::change_count(const std::string& uuid) const {
  const auto at = ids_.find(uuid);
  if (at == ids_.end() || is_changing(at->second)) return std::nullopt;
  const auto begun = change_counts_.find(at->second.value());
  return begun == change_counts_.end() ? 0 : begun->second;
}

void Hardware::on_polled(const GpuSnapshot& snapshot, std::optional<std::uint64_t> changes) {
  const bool is_ours = id_of(snapshot.gpu.uuid) && snapshot.gpu.health == device::Health::kOk;
  if (!is_ours || (changes && changes == change_count(snapshot.gpu.uuid))) on_snapshot(snapshot);
  schedule_poll(snapshot.gpu.uuid);
}

void Hardware::schedule_poll(const std::string& uuid) {
  PollState::GpuPoll& state = poll_state_->polls.at(uuid);
  state.is_in_flight = false;
  const bool soon = std::exchange(state.repeat, false) && engine_.store_error().empty();
  state.next.expires_after(soon ? kRepollDelay : options_.poll_interval);
  state.next.async_wait([this, alive = alive_, uuid](const boost::system::error_code& stopped) {
    if (!stopped && *alive) poll(uuid);
  });
}

// A hanging driver call cannot be cancelled: the GPU is marked unresponsive.
void Hardware::poll_failed(const std::string& uuid, const device::Failure& failure) {
  const auto id = id_of(uuid);
  if (!id || failure.kind != device::Failure::Kind::kUnresponsive) return;
  set_health(*id, core::Health::kUnresponsive, cat("the driver does not respond for GPU ", uuid));
}

void Hardware::list_processes(
    core::GpuId gpu, core::InstanceId instance,
    const std::function<void(const std::optional<std::vector<unsigned>>&)>& on_result) {
  const auto at = instances_.find(instance.value());
  if (at == instances_.end()) {
    boost::asio::post(loop_, [on_result] { on_result(std::vector<unsigned>()); });
    return;
  }
  const std::string uuid = uuid_of(gpu);
  const auto read = [this, alive = alive_, on_result, library = library_, uuid,
                     gi = at->second.gi]() -> std::function<void()> {
    return [this, alive, on_result, pids = read_pids(*library, uuid, gi)] {
      boost::asio::post(loop_, [alive, on_result, pids] {
        if (*alive) on_result(pids);
      });
    };
  };
  const auto on_failure = [this, alive = alive_, on_result, uuid](const device::Failure& failure) {
    boost::asio::post(loop_, [this, alive, on_result, uuid, failure] {
      if (!*alive) return;
      poll_failed(uuid, failure);
      on_result(std::nullopt);
    });
  };
  pollers_->query_gpu(uuid, options_.change_time, read, on_failure);
}

}  // namespace tangram::daemon
