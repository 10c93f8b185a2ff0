// See hardware.hpp: initialization, and the changes that the scheduler requests.
#include "daemon/gpus/hardware.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <utility>

#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "daemon/gpus/poll_state.hpp"
#include "device/gpus.hpp"
#include "device/owned_instances_file.hpp"
#include "nvml/control.hpp"
#include "os/boot_id.hpp"

namespace tangram::daemon {

Hardware::Hardware(boost::asio::io_context& loop, Engine& engine, HardwareOptions options)
    : loop_(loop),
      engine_(engine),
      options_(std::move(options)),
      poll_state_(std::make_unique<PollState>()) {}

// The driver's threads end first, since they use everything else.
Hardware::~Hardware() {
  *alive_ = false;
  if (events_) events_->stop();
  if (counters_) counters_->stop();
  pollers_.reset();
  workers_.reset();
}

Result<std::unique_ptr<Hardware>> Hardware::open(boost::asio::io_context& loop, Engine& engine,
                                                 HardwareOptions options) {
  std::unique_ptr<Hardware> hardware(new Hardware(loop, engine, std::move(options)));
  if (auto begun = hardware->initialize(); !begun) return std::unexpected(begun.error());
  return hardware;
}

Result<void> Hardware::initialize() {
  auto library = device::Library::open(options_.library);
  if (!library) {  // of an emulator, the driver's error code says less
    const auto why =
        options_.emulated ? device::emulated_node_error(options_.library) : std::optional<Error>();
    return std::unexpected(why.value_or(library.error()));
  }
  library_ = *library;
  driver_ = library_->driver_version().value_or("unknown");
  auto gpus = device::list_gpus(*library_);
  if (!gpus) return std::unexpected(gpus.error().error);
  gpus_ = *std::move(gpus);
  switch_mig_on_at_start();
  auto owned = device::OwnedInstancesFile(options_.owned_file, os::boot_id()).open();
  if (!owned) return std::unexpected(owned.error());
  owned_ = std::move(*owned);
  const auto on_worker_back = [this](const device::Reconciled& what) {
    boost::asio::post(loop_, [this, alive = alive_, what] {
      if (*alive) on_responsive(what);
    });
  };
  const auto on_poller_back = [this](const device::Reconciled& what) {
    boost::asio::post(loop_, [this, alive = alive_, uuid = what.gpu_uuid] {
      if (*alive) poll(uuid);
    });
  };
  workers_ = std::make_unique<device::Workers>(library_, owned_, gpus_, on_worker_back);
  pollers_ = std::make_unique<device::Workers>(library_, owned_, gpus_, on_poller_back);
  for (const device::Gpu& gpu : gpus_) {
    for (const std::string& difference : gpu.differences) {
      spdlog::warn("GPU {}: {}", gpu.index, difference);
    }
    if (!gpu.trouble.empty()) spdlog::warn("GPU {} ({}): {}", gpu.index, gpu.uuid, gpu.trouble);
  }
  return {};
}

std::optional<core::GpuId> Hardware::id_of(const std::string& uuid) const {
  const auto at = ids_.find(uuid);
  if (at == ids_.end()) return std::nullopt;
  // A GPU whose GpuAdded is posted but not applied is not the scheduler's yet.
  const bool known = at->second.value() < engine_.scheduler().node().gpu_count();
  return known ? std::optional(at->second) : std::nullopt;
}

std::string Hardware::uuid_of(core::GpuId gpu) const {
  for (const auto& [uuid, id] : ids_) {
    if (id == gpu) return uuid;
  }
  return "";
}

const device::Gpu* Hardware::find(const std::string& uuid) const {
  const auto at = std::ranges::find(gpus_, uuid, &device::Gpu::uuid);
  return at == gpus_.end() ? nullptr : &*at;
}

bool Hardware::is_changing(core::GpuId id) const {
  const auto at = changes_in_flight_.find(id.value());
  return at != changes_in_flight_.end() && at->second > 0;
}

device::Workers::Limits Hardware::limits() const {
  device::Workers::Limits limits;
  limits.time = options_.change_time;
  limits.retry.retry_for = options_.in_use_time;
  return limits;
}

void Hardware::create(const core::CreateInstance& action) {
  const std::string uuid = uuid_of(action.gpu);
  const core::GpuId id = action.gpu;
  ++changes_in_flight_[id.value()];
  ++change_counts_[id.value()];
  // Looked up by name: the driver's model may number the profiles differently.
  const mig::Profile& profile =
      engine_.scheduler().node().model(id).profile(action.placement.profile);
  const device::Gpu* gpu = find(uuid);
  const auto index = gpu == nullptr || !gpu->model ? Result<mig::ProfileIndex>(not_found("no GPU"))
                                                   : gpu->model->find_profile(profile.name);
  const auto done = [this, alive = alive_, action](device::Outcome<device::Instance> outcome) {
    boost::asio::post(loop_, [this, alive, action, outcome = std::move(outcome)] {
      if (*alive) on_created(action, outcome);
    });
  };
  if (!index) {
    done(std::unexpected(device::make_failure(device::Failure::Kind::kLost, ErrorCode::kFailed,
                                              cat("GPU ", uuid, " not found."))));
    return;
  }
  workers_->create(uuid, mig::Placement{*index, action.placement.start}, limits(), done);
}

void Hardware::on_created(const core::CreateInstance& action,
                          device::Outcome<device::Instance> outcome) {
  --changes_in_flight_[action.gpu.value()];
  if (outcome) {
    note_created(action, *outcome);
    return;
  }
  const device::Failure& failure = outcome.error();
  if (failure.kind == device::Failure::Kind::kUnresponsive) {
    unresolved_.emplace(action.gpu.value(), UnresolvedChange{action});
    mark_gpu_failed(action.gpu, failure);
    return;
  }
  if (failure.kind == device::Failure::Kind::kNotReady) {
    // MIG mode was switched off meanwhile. Reported first, so that the job is queued again.
    spdlog::warn("GPU {}: {}", action.gpu.value(), failure.error.message);
    take_out_of_service(action.gpu);
    return;
  }
  report_create_failure(action, failure.error.message);
  mark_gpu_failed(action.gpu, failure);
  if (failure.leftover == device::Failure::Leftover::kInstance && failure.instance) {
    remove_leftover(action.gpu, *failure.instance);
  } else if (failure.leftover != device::Failure::Leftover::kNothing ||
             failure.kind == device::Failure::Kind::kNoRoom) {
    poll(uuid_of(action.gpu));  // an unknown instance may be there
  }
}

void Hardware::note_created(const core::CreateInstance& action, const device::Instance& instance) {
  instances_.insert_or_assign(action.instance.value(), instance);
  store::InstanceRow row{.instance = action.instance.value(),
                         .gpu = action.gpu.value(),
                         .profile = instance.profile,
                         .start = instance.start,
                         .mig_uuid = instance.mig_uuid,
                         .created = Clock::wall()};
  engine_.post(Input{.event = core::InstanceCreated{action.gpu, action.instance},
                     .edit_rows = [row = std::move(row)](JobTable& records) { records.put(row); }});
}

// Records the failure as the reason of the job (or of its move) and posts ActionFailed: the
// scheduler tries another placement or gives up.
void Hardware::report_create_failure(const core::CreateInstance& action, const std::string& why) {
  spdlog::warn("GPU {}: {}", action.gpu.value(), why);
  const core::Entry* entry = engine_.scheduler().node().find(action.gpu, action.instance);
  std::uint64_t job = 0;
  bool is_replica = false;  // its job runs: only the move has failed
  if (entry != nullptr && entry->job != core::kNoJob) {
    const core::Job& owner = engine_.scheduler().node().job(entry->job);
    job = owner.id.value();
    is_replica = owner.moving() && owner.replica.instance == action.instance;
  }
  core::ActionFailed event;
  event.kind = core::ActionKind::kCreateInstance;
  event.gpu = action.gpu;
  event.instance = action.instance;
  const auto note = [job, is_replica, why](JobTable& records) {
    store::MoveRow* move = is_replica ? records.edit_move(job) : nullptr;
    store::JobRow* row = is_replica ? nullptr : records.edit_job(job);
    if (move != nullptr) move->reason = why;
    if (row != nullptr) row->reason = why;
  };
  engine_.post(Input{.event = event, .edit_rows = note});
}

// Updates the GPU's health if the failure was the GPU's.
void Hardware::mark_gpu_failed(core::GpuId gpu, const device::Failure& failure) {
  if (failure.kind == device::Failure::Kind::kLost) {
    set_health(gpu, core::Health::kLost, failure.error.message);
  } else if (failure.kind == device::Failure::Kind::kUnresponsive) {
    set_health(gpu, core::Health::kUnresponsive, failure.error.message);
  }
}

void Hardware::destroy(const core::DestroyInstance& action) {
  const auto at = instances_.find(action.instance.value());
  if (at == instances_.end()) {  // already gone
    engine_.post(core::InstanceDestroyed{action.gpu, action.instance});
    return;
  }
  if (is_orphaned(at->second)) {  // quarantined, and tried again later
    report_destroy_failure(action);
    return;
  }
  ++changes_in_flight_[action.gpu.value()];
  ++change_counts_[action.gpu.value()];
  const auto done = [this, alive = alive_, action](device::Outcome<void> outcome) {
    boost::asio::post(loop_, [this, alive, action, outcome = std::move(outcome)] {
      if (*alive) on_destroyed(action, outcome);
    });
  };
  workers_->destroy(uuid_of(action.gpu), at->second, limits(), done);
}

void Hardware::on_destroyed(const core::DestroyInstance& action, device::Outcome<void> outcome) {
  --changes_in_flight_[action.gpu.value()];
  if (outcome) {
    instances_.erase(action.instance.value());
    destroy_failed_.erase(action.instance.value());
    engine_.post(core::InstanceDestroyed{action.gpu, action.instance});
    return;
  }
  spdlog::warn("GPU {}: {}", action.gpu.value(), outcome.error().error.message);
  if (outcome.error().kind == device::Failure::Kind::kUnresponsive) {
    unresolved_.emplace(action.gpu.value(), UnresolvedChange{action});
  } else {
    report_destroy_failure(action);
  }
  mark_gpu_failed(action.gpu, outcome.error());
}

// The scheduler quarantines the instance until it is gone.
void Hardware::report_destroy_failure(const core::DestroyInstance& action) {
  destroy_failed_.insert(action.instance.value());
  core::ActionFailed event;
  event.kind = core::ActionKind::kDestroyInstance;
  event.gpu = action.gpu;
  event.instance = action.instance;
  engine_.post(event);
}

// The driver answers again after a timeout: the instances it lists now decide how the unresolved
// changes ended.
void Hardware::on_responsive(const device::Reconciled& what) {
  const auto id = id_of(what.gpu_uuid);
  if (!id) return;
  if (!what.instances) {  // unusable until a poll succeeds
    set_health(*id, core::Health::kLost, what.instances.error().error.message);
    return;
  }
  const auto [first, last] = unresolved_.equal_range(id->value());
  std::vector<UnresolvedChange> changes;
  for (auto at = first; at != last; ++at) changes.push_back(at->second);
  unresolved_.erase(id->value());
  for (const UnresolvedChange& change : changes) {
    std::visit([&](const auto& action) { resolve(action, *what.instances); }, change.action);
  }
  set_health(*id, core::Health::kOk, "the driver responds again");
  poll(what.gpu_uuid);
}

void Hardware::resolve(const core::CreateInstance& action,
                       const std::vector<device::Instance>& present) {
  const mig::Profile& profile =
      engine_.scheduler().node().model(action.gpu).profile(action.placement.profile);
  const device::Instance* found = find_at(present, profile.name, action.placement.start);
  if (found != nullptr && found->whole && owned_->has(device::location_of(*found))) {
    note_created(action, *found);
  } else {
    report_create_failure(action, cat("GPU ", uuid_of(action.gpu),
                                      " did not respond in time and then had no such instance."));
  }
}

void Hardware::resolve(const core::DestroyInstance& action,
                       const std::vector<device::Instance>& present) {
  const auto at = instances_.find(action.instance.value());
  if (at != instances_.end() && find_at(present, at->second.profile, at->second.start) != nullptr) {
    report_destroy_failure(action);
    return;
  }
  instances_.erase(action.instance.value());
  destroy_failed_.erase(action.instance.value());
  engine_.post(core::InstanceDestroyed{action.gpu, action.instance});
}

core::Health Hardware::health_of(core::GpuId id) const {
  const auto at = health_.find(id.value());
  return at == health_.end() ? engine_.scheduler().node().gpu(id).health : at->second;
}

void Hardware::set_health(core::GpuId id, core::Health health, const std::string& why) {
  if (health_of(id) == health) return;
  health_[id.value()] = health;
  if (health == core::Health::kOk) {
    spdlog::info("GPU {} recovered: {}", id.value(), why);
  } else {
    spdlog::error("GPU {}: {}", id.value(), why);
  }
  const bool is_lost = health == core::Health::kLost;
  // on_gpu_lost is called once the event is durable: all runs decided before have been started by
  // then, so it ends them all.
  engine_.post(Input{.event = core::GpuHealth{id, health},
                     .done =
                         [this, alive = alive_, id, is_lost](const Result<void>& result) {
                           if (*alive && result && is_lost && on_gpu_lost) on_gpu_lost(id);
                         },
                     .reason = health == core::Health::kOk ? "" : why});
  if (!is_lost) return;
  for (const auto& [instance, row] : engine_.records().instances()) {
    if (row.gpu == id.value()) instances_.erase(instance);
  }
  unresolved_.erase(id.value());
}

void Hardware::register_process(const std::string& mig_uuid, int pid) {
  if (!options_.emulated) return;
  void* library = dlopen(library_->path().c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return;
  auto* register_pid = reinterpret_cast<decltype(&nvml::tangramEmulatorRegister)>(
      dlsym(library, "tangramEmulatorRegister"));
  if (register_pid != nullptr) {
    const nvml::Return code = register_pid(mig_uuid.c_str(), static_cast<unsigned>(pid), 0);
    if (code != nvml::kSuccess) {
      spdlog::debug("cannot register process {} on the emulated {}: {}", pid, mig_uuid,
                    device::code_name(code));
    }
  }
  dlclose(library);
}

}  // namespace tangram::daemon
