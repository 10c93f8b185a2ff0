// See hardware.hpp: opening, and the changes the scheduler asks for.
#include "daemon/hardware.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <utility>

#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "daemon/hardware_threads.hpp"
#include "device/gpus.hpp"
#include "device/owned_file.hpp"
#include "device/prepare.hpp"
#include "files/boot_id.hpp"
#include "nvml/control.hpp"

namespace tangram::daemon {

Hardware::Hardware(boost::asio::io_context& loop, Engine& engine, HardwareOptions options)
    : loop_(loop),
      engine_(engine),
      options_(std::move(options)),
      threads_(std::make_unique<Threads>()) {}

// The threads of the driver first: they must find everything else still there.
Hardware::~Hardware() {
  *alive_ = false;
  if (events_) events_->stop();
  if (counters_) counters_->stop();
  lookers_.reset();
  workers_.reset();
}

Result<std::unique_ptr<Hardware>> Hardware::open(boost::asio::io_context& loop, Engine& engine,
                                                 HardwareOptions options) {
  std::unique_ptr<Hardware> hardware(new Hardware(loop, engine, std::move(options)));
  if (auto begun = hardware->begin(); !begun) return std::unexpected(begun.error());
  return hardware;
}

Result<void> Hardware::begin() {
  auto library = device::Library::open(options_.library);
  if (!library) return std::unexpected(library.error());
  library_ = *library;
  driver_ = library_->driver_version().value_or("unknown");
  auto gpus = device::list_gpus(*library_);
  if (!gpus) return std::unexpected(gpus.error().error);
  gpus_ = *std::move(gpus);
  if (options_.enable_mig) switch_mig_on();
  auto owned = device::OwnedFile(options_.owned_file, files::boot_id()).open();
  if (!owned) return std::unexpected(owned.error());
  owned_ = std::move(*owned);
  const auto told = [this](const device::Reconciled& what) {
    boost::asio::post(loop_, [this, alive = alive_, what] {
      if (*alive) reconciled(what);
    });
  };
  const auto answers = [this](const device::Reconciled& what) {
    boost::asio::post(loop_, [this, alive = alive_, uuid = what.gpu_uuid] {
      if (*alive) look(uuid);
    });
  };
  workers_ = std::make_unique<device::Workers>(library_, owned_, gpus_, told);
  lookers_ = std::make_unique<device::Workers>(library_, owned_, gpus_, answers);
  for (const device::Gpu& gpu : gpus_) {
    for (const std::string& difference : gpu.differences) {
      spdlog::warn("GPU {}: {}", gpu.index, difference);
    }
    if (!gpu.trouble.empty()) spdlog::warn("GPU {} ({}): {}", gpu.index, gpu.uuid, gpu.trouble);
  }
  return {};
}

// A reboot turns MIG mode off on Hopper and later; on Ampere it needs a reset that we do not do.
void Hardware::switch_mig_on() {
  for (device::Gpu& gpu : gpus_) {
    if (gpu.mig != device::MigMode::kOff) continue;
    const auto prepared = device::prepare(*library_, gpu);
    if (!prepared) {
      spdlog::error("cannot switch MIG mode on: {}", prepared.error().error.message);
      continue;
    }
    if (!prepared->next.empty()) {
      spdlog::warn("GPU {}: {}", gpu.index, prepared->next);
      continue;
    }
    spdlog::info("switched MIG mode on for GPU {} ({})", gpu.index, gpu.uuid);
    if (auto again = device::read_gpu(*library_, gpu.uuid)) gpu = *std::move(again);
  }
}

std::optional<core::GpuId> Hardware::id_of(const std::string& uuid) const {
  const auto at = ids_.find(uuid);
  if (at == ids_.end()) return std::nullopt;
  // One that is on its way to the scheduler is not there yet.
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

bool Hardware::changing(core::GpuId id) const {
  const auto at = under_way_.find(id.value());
  return at != under_way_.end() && at->second > 0;
}

device::Workers::Limits Hardware::limits() const {
  device::Workers::Limits limits;
  limits.time = options_.change_time;
  limits.patience.retry_for = options_.in_use_time;
  return limits;
}

void Hardware::create(const core::CreateInstance& wanted) {
  const std::string uuid = uuid_of(wanted.gpu);
  const core::GpuId id = wanted.gpu;
  ++under_way_[id.value()];
  ++changes_begun_[id.value()];
  // Profiles by name: the driver's own model may number them otherwise.
  const mig::Profile& profile =
      engine_.scheduler().node().model(id).profile(wanted.placement.profile);
  const device::Gpu* gpu = find(uuid);
  const auto index = gpu == nullptr || !gpu->model ? Result<mig::ProfileIndex>(not_found("no GPU"))
                                                   : gpu->model->find_profile(profile.name);
  const auto done = [this, alive = alive_, wanted](device::Outcome<device::Instance> outcome) {
    boost::asio::post(loop_, [this, alive, wanted, outcome = std::move(outcome)] {
      if (*alive) created(wanted, outcome);
    });
  };
  if (!index) {
    done(std::unexpected(device::make_failure(device::Failure::Kind::kLost, ErrorCode::kFailed,
                                              cat("GPU ", uuid, " is not there."))));
    return;
  }
  workers_->create(uuid, mig::Placement{*index, wanted.placement.start}, limits(), done);
}

void Hardware::created(const core::CreateInstance& wanted,
                       device::Outcome<device::Instance> outcome) {
  --under_way_[wanted.gpu.value()];
  if (outcome) {
    note_created(wanted, *outcome);
    return;
  }
  const device::Failure& failure = outcome.error();
  if (failure.kind == device::Failure::Kind::kUnresponsive) {
    pending_.emplace(wanted.gpu.value(), Pending{wanted});
    failed_on(wanted.gpu, failure);
    return;
  }
  refuse(wanted, failure.error.message);
  failed_on(wanted.gpu, failure);
  if (failure.left == device::Failure::Left::kInstance && failure.instance) {
    remove_leftover(wanted.gpu, *failure.instance);
  } else if (failure.left != device::Failure::Left::kNothing ||
             failure.kind == device::Failure::Kind::kNoRoom) {
    look(uuid_of(wanted.gpu));  // something stands there that we do not know of
  }
}

void Hardware::note_created(const core::CreateInstance& wanted, const device::Instance& instance) {
  instances_.insert_or_assign(wanted.instance.value(), instance);
  store::InstanceRow row{.instance = wanted.instance.value(),
                         .gpu = wanted.gpu.value(),
                         .profile = instance.profile,
                         .start = instance.start,
                         .mig_uuid = instance.mig_uuid,
                         .created = Clock::wall()};
  engine_.post(Input{.event = core::InstanceCreated{wanted.gpu, wanted.instance},
                     .note = [row = std::move(row)](Records& records) { records.put(row); }});
}

// The job that waits for it learns why; it is tried elsewhere, and in the end given up.
void Hardware::refuse(const core::CreateInstance& wanted, const std::string& why) {
  spdlog::warn("GPU {}: {}", wanted.gpu.value(), why);
  const core::Entry* entry = engine_.scheduler().node().find(wanted.gpu, wanted.instance);
  std::uint64_t job = 0;
  bool is_replica = false;  // then its job runs, and it is the move that has failed
  if (entry != nullptr && entry->job != core::kNoJob) {
    const core::Job& owner = engine_.scheduler().node().job(entry->job);
    job = owner.id.value();
    is_replica = owner.moving() && owner.replica.instance == wanted.instance;
  }
  core::ActionFailed event;
  event.kind = core::ActionKind::kCreateInstance;
  event.gpu = wanted.gpu;
  event.instance = wanted.instance;
  const auto note = [job, is_replica, why](Records& records) {
    store::MoveRow* move = is_replica ? records.edit_move(job) : nullptr;
    store::JobRow* row = is_replica ? nullptr : records.edit_job(job);
    if (move != nullptr) move->reason = why;
    if (row != nullptr) row->reason = why;
  };
  engine_.post(Input{.event = event, .note = note});
}

// What a failure says about the GPU itself.
void Hardware::failed_on(core::GpuId gpu, const device::Failure& failure) {
  if (failure.kind == device::Failure::Kind::kLost) {
    set_health(gpu, core::Health::kLost, failure.error.message);
  } else if (failure.kind == device::Failure::Kind::kUnresponsive) {
    set_health(gpu, core::Health::kUnresponsive, failure.error.message);
  }
}

void Hardware::destroy(const core::DestroyInstance& wanted) {
  const auto at = instances_.find(wanted.instance.value());
  if (at == instances_.end()) {  // it does not stand: that is what was wanted
    engine_.post(core::InstanceDestroyed{wanted.gpu, wanted.instance});
    return;
  }
  ++under_way_[wanted.gpu.value()];
  ++changes_begun_[wanted.gpu.value()];
  const auto done = [this, alive = alive_, wanted](device::Outcome<void> outcome) {
    boost::asio::post(loop_, [this, alive, wanted, outcome = std::move(outcome)] {
      if (*alive) destroyed(wanted, outcome);
    });
  };
  workers_->destroy(uuid_of(wanted.gpu), at->second, limits(), done);
}

void Hardware::destroyed(const core::DestroyInstance& wanted, device::Outcome<void> outcome) {
  --under_way_[wanted.gpu.value()];
  if (outcome) {
    instances_.erase(wanted.instance.value());
    undestroyed_.erase(wanted.instance.value());
    engine_.post(core::InstanceDestroyed{wanted.gpu, wanted.instance});
    return;
  }
  spdlog::warn("GPU {}: {}", wanted.gpu.value(), outcome.error().error.message);
  if (outcome.error().kind == device::Failure::Kind::kUnresponsive) {
    pending_.emplace(wanted.gpu.value(), Pending{wanted});
  } else {
    report_failure(wanted);
  }
  failed_on(wanted.gpu, outcome.error());
}

// Until it is gone, nobody may have it.
void Hardware::report_failure(const core::DestroyInstance& wanted) {
  undestroyed_.insert(wanted.instance.value());
  core::ActionFailed event;
  event.kind = core::ActionKind::kDestroyInstance;
  event.gpu = wanted.gpu;
  event.instance = wanted.instance;
  engine_.post(event);
}

// The driver answers again: what it really did is what stands there now.
void Hardware::reconciled(const device::Reconciled& what) {
  const auto id = id_of(what.gpu_uuid);
  if (!id) return;
  if (!what.instances) {  // what cannot even be looked at is no use; it comes back when it can be
    set_health(*id, core::Health::kLost, what.instances.error().error.message);
    return;
  }
  const auto [first, last] = pending_.equal_range(id->value());
  std::vector<Pending> mine;
  for (auto at = first; at != last; ++at) mine.push_back(at->second);
  pending_.erase(id->value());
  for (const Pending& pending : mine) {
    std::visit([&](const auto& wanted) { settle(wanted, *what.instances); }, pending.wanted);
  }
  set_health(*id, core::Health::kOk, "it answers again");
  look(what.gpu_uuid);
}

void Hardware::settle(const core::CreateInstance& wanted,
                      const std::vector<device::Instance>& present) {
  const mig::Profile& profile =
      engine_.scheduler().node().model(wanted.gpu).profile(wanted.placement.profile);
  const device::Instance* found = find_at(present, profile.name, wanted.placement.start);
  if (found != nullptr && found->whole && owned_->has(device::place_of(*found))) {
    note_created(wanted, *found);
  } else {
    refuse(wanted, cat("GPU ", uuid_of(wanted.gpu),
                       " did not answer in time, and then had no such instance."));
  }
}

void Hardware::settle(const core::DestroyInstance& wanted,
                      const std::vector<device::Instance>& present) {
  const auto at = instances_.find(wanted.instance.value());
  if (at != instances_.end() && find_at(present, at->second.profile, at->second.start) != nullptr) {
    report_failure(wanted);
    return;
  }
  instances_.erase(wanted.instance.value());
  undestroyed_.erase(wanted.instance.value());
  engine_.post(core::InstanceDestroyed{wanted.gpu, wanted.instance});
}

core::Health Hardware::health_of(core::GpuId id) const {
  const auto at = health_.find(id.value());
  return at == health_.end() ? engine_.scheduler().node().gpu(id).health : at->second;
}

void Hardware::set_health(core::GpuId id, core::Health health, const std::string& why) {
  if (health_of(id) == health) return;
  health_[id.value()] = health;
  if (health == core::Health::kOk) {
    spdlog::info("GPU {} is back: {}", id.value(), why);
  } else {
    spdlog::error("GPU {}: {}", id.value(), why);
  }
  const bool is_lost = health == core::Health::kLost;
  // Once it is on the disk: by then everything that was decided before has been started, and is
  // ended.
  engine_.post(Input{.event = core::GpuHealth{id, health},
                     .done = [this, alive = alive_, id, is_lost](const Result<void>& result) {
                       if (*alive && result && is_lost && on_lost) on_lost(id);
                     }});
  if (!is_lost) return;
  for (const auto& [instance, row] : engine_.records().instances()) {
    if (row.gpu == id.value()) instances_.erase(instance);
  }
  pending_.erase(id.value());
}

void Hardware::register_process(const std::string& mig_uuid, int pid) {
  if (!options_.emulated) return;
  void* library = dlopen(library_->path().c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return;
  auto* door = reinterpret_cast<decltype(&nvml::tangramEmulatorRegister)>(
      dlsym(library, "tangramEmulatorRegister"));
  if (door != nullptr) {
    const nvml::Return code = door(mig_uuid.c_str(), static_cast<unsigned>(pid), 0);
    if (code != nvml::kSuccess) {
      spdlog::debug("the emulated {} does not take process {}: {}", mig_uuid, pid,
                    device::code_name(code));
    }
  }
  dlclose(library);
}

}  // namespace tangram::daemon
