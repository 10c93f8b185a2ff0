// See hardware.hpp: at the start, the scheduler's picture of the GPUs comes from the store and may
// be of another time; the driver's is the truth. What was being made is finished or made again,
// what was being removed is removed, what is gone is forgotten. One rule: every difference becomes
// an event or an action that is asked again; the scheduler's state is never edited.
#include <algorithm>

#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/hardware.hpp"
#include "daemon/hardware_threads.hpp"
#include "device/instances.hpp"

namespace tangram::daemon {

bool Hardware::has_nothing() const {
  const core::Node& node = engine_.scheduler().node();
  for (const auto& [number, row] : engine_.records().gpus()) {
    const device::Gpu* gpu = find(row.uuid);
    if (gpu == nullptr) continue;
    const auto present = device::look(*library_, *gpu);
    if (!present) continue;
    for (const core::Entry& entry : node.entries(core::GpuId(number))) {
      if (entry.state != core::EntryState::kHeld) continue;
      const mig::Profile& profile =
          node.model(core::GpuId(number)).profile(entry.placement.profile);
      if (find_at(*present, profile.name, entry.placement.start) != nullptr) return false;
    }
  }
  return true;
}

void Hardware::add_gpu(const device::Gpu& gpu, const std::vector<device::Instance>& present) {
  const core::GpuId id(static_cast<std::uint32_t>(
      std::max<std::size_t>(engine_.scheduler().node().gpu_count(), threads_->gpus_added)));
  threads_->gpus_added = id.value() + 1;
  ids_[gpu.uuid] = id;
  store::GpuRow row{.gpu = id.value(), .uuid = gpu.uuid, .name = gpu.device_name};
  engine_.post(Input{.event = core::GpuAdded{gpu.model, {}},
                     .note = [row](Records& records) { records.put(row); }});
  for (const device::Instance& each : present) {
    if (each.placement) engine_.post(core::ForeignSeen{id, *each.placement});
    // If it is ours all the same, the next look removes it.
  }
}

void Hardware::agree(bool rebooted) {
  const core::Node& node = engine_.scheduler().node();
  for (const auto& [number, row] : engine_.records().gpus()) {
    const core::GpuId id(number);
    const device::Gpu* gpu = find(row.uuid);
    const bool same = gpu != nullptr && gpu->model && gpu->health == device::Health::kOk &&
                      gpu->mig == device::MigMode::kOn &&
                      gpu->model->spec() == node.model(id).spec();
    ids_[row.uuid] = id;
    if (same) {
      agree_on(id, *gpu, rebooted);
      continue;
    }
    set_health(id, core::Health::kLost,
               gpu == nullptr ? cat("GPU ", row.uuid, " is not in this node any more")
                              : cat("GPU ", row.uuid, " cannot be used: ", gpu->trouble));
    // The driver reports other profiles than before: for the scheduler it is another GPU.
    const bool changed = gpu != nullptr && gpu->model && gpu->mig == device::MigMode::kOn;
    if (changed) ids_.erase(row.uuid);
  }
  for (const device::Gpu& gpu : gpus_) {
    if (!gpu.model || gpu.mig != device::MigMode::kOn || ids_.contains(gpu.uuid)) continue;
    if (gpu.health != device::Health::kOk) continue;
    const auto present = device::look(*library_, gpu);  // if it fails, the next look tells
    add_gpu(gpu, present.value_or(std::vector<device::Instance>()));
  }
}

void Hardware::agree_on(core::GpuId id, const device::Gpu& gpu, bool rebooted) {
  const auto present = device::look(*library_, gpu);
  if (!present) {
    set_health(id, core::Health::kLost, present.error().error.message);
    return;
  }
  if (const auto tidied = owned_->forget_gone(gpu.uuid, *present); !tidied) {
    spdlog::error("{}", tidied.error().message);
  }
  const core::Node& node = engine_.scheduler().node();
  if (rebooted) {  // whatever was there is gone, and its jobs with it
    engine_.post(core::GpuHealth{id, core::Health::kLost});
    engine_.post(core::GpuHealth{id, core::Health::kOk});
    health_[id.value()] = core::Health::kOk;
  } else {
    if (node.gpu(id).health != core::Health::kOk) set_health(id, core::Health::kOk, "seen");
    for (const core::Entry& entry : node.entries(id)) agree_on_entry(id, gpu, entry, *present);
  }
  for (const device::Instance& each : *present) {
    const auto placement = placement_of(id, each);
    if (!placement) continue;
    if (!rebooted && is_known(id, each)) continue;
    if (owned_->has(device::place_of(each))) {
      remove_leftover(id, each);
    } else {
      engine_.post(core::ForeignSeen{id, *placement});
    }
  }
}

void Hardware::agree_on_entry(core::GpuId id, const device::Gpu& gpu, const core::Entry& entry,
                              const std::vector<device::Instance>& present) {
  const std::string& profile =
      engine_.scheduler().node().model(id).profile(entry.placement.profile).name;
  const device::Instance* found = find_at(present, profile, entry.placement.start);
  const bool ours = found != nullptr && owned_->has(device::place_of(*found));
  if (ours) instances_.insert_or_assign(entry.id.value(), *found);
  switch (entry.state) {
    case core::EntryState::kReserved:
      return;
    case core::EntryState::kCreating: {
      const core::CreateInstance wanted{id, entry.id, entry.placement};
      if (ours && found->whole) {
        note_created(wanted, *found);
        return;
      }
      if (ours) {  // half made: away with it, then again
        workers_->destroy(gpu.uuid, *found, limits(), [](const device::Outcome<void>& outcome) {
          if (!outcome) spdlog::error("{}", outcome.error().error.message);
        });
        instances_.erase(entry.id.value());
      }
      create(wanted);
      return;
    }
    case core::EntryState::kIdle:
      if (!ours) forget_vanished(id, entry.placement);
      return;
    case core::EntryState::kHeld:
      if (found == nullptr) held_is_gone(id, entry);
      if (found != nullptr && !ours) {
        spdlog::error("GPU {}: the {} at {} of a job is not recorded as Tangram's", id.value(),
                      profile, found->start);
      }
      return;
    case core::EntryState::kDestroying:
    case core::EntryState::kQuarantined:
      destroy({id, entry.id});
      return;
    case core::EntryState::kForeign:
      if (found == nullptr) engine_.post(core::ForeignGone{id, entry.placement});
      return;
  }
}

}  // namespace tangram::daemon
