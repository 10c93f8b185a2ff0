// See hardware.hpp: reconciles the GPUs at start. The scheduler's state comes from the store and
// may be outdated; the driver is authoritative. Interrupted creations are completed or repeated,
// interrupted destructions repeated, vanished instances forgotten. Every difference is posted as an
// event or executed as an action again; the scheduler's state is never edited.
#include <algorithm>

#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/gpus/hardware.hpp"
#include "daemon/gpus/poll_state.hpp"
#include "device/gpus.hpp"
#include "device/instances.hpp"

namespace tangram::daemon {

bool Hardware::has_no_held_instances() const {
  const core::Node& node = engine_.scheduler().node();
  for (const auto& [number, row] : engine_.records().gpus()) {
    const device::Gpu* gpu = find(row.uuid);
    if (gpu == nullptr || !gpu->model) continue;
    const auto present = device::list_instances_with_retry(*library_, *gpu);
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
      std::max<std::size_t>(engine_.scheduler().node().gpu_count(), poll_state_->gpus_added)));
  poll_state_->gpus_added = id.value() + 1;
  ids_[gpu.uuid] = id;
  store::GpuRow row{.gpu = id.value(), .uuid = gpu.uuid, .name = gpu.device_name};
  engine_.post(Input{.event = core::GpuAdded{gpu.model, {}},
                     .edit_rows = [row](JobTable& records) { records.put(row); }});
  for (const device::Instance& each : present) {
    if (each.placement) engine_.post(core::ForeignSeen{id, *each.placement});
    // If Tangram created the instance after all, the next poll removes it.
  }
}

void Hardware::reconcile(bool rebooted) {
  const core::Node& node = engine_.scheduler().node();
  for (const auto& [number, row] : engine_.records().gpus()) {
    const core::GpuId id(number);
    const device::Gpu* gpu = find(row.uuid);
    const bool same = gpu != nullptr && gpu->model && gpu->health == device::Health::kOk &&
                      is_mig_on(*gpu) && gpu->model->spec() == node.model(id).spec();
    ids_[row.uuid] = id;
    if (same) {
      reconcile_gpu(id, *gpu, rebooted);
      continue;
    }
    if (gpu != nullptr && is_mig_off(*gpu)) {
      take_out_of_service(id);
      continue;
    }
    set_health(id, core::Health::kLost,
               gpu == nullptr ? cat("GPU ", row.uuid, " is not in this node any more")
                              : cat("GPU ", row.uuid, " cannot be used: ", gpu->trouble));
    // The driver reports other profiles than before: for the scheduler it is another GPU.
    const bool changed = gpu != nullptr && gpu->model && is_mig_on(*gpu);
    if (changed) ids_.erase(row.uuid);
  }
  for (const device::Gpu& gpu : gpus_) {
    if (!gpu.model || !is_mig_on(gpu) || ids_.contains(gpu.uuid)) continue;
    if (gpu.health != device::Health::kOk) continue;
    const auto present =
        device::list_instances_with_retry(*library_, gpu);  // on failure the next poll reports them
    add_gpu(gpu, present.value_or(std::vector<device::Instance>()));
  }
}

void Hardware::reconcile_gpu(core::GpuId id, const device::Gpu& gpu, bool rebooted) {
  const auto present = device::list_instances_with_retry(*library_, gpu);
  if (!present) {
    set_health(id, core::Health::kLost, present.error().error.message);
    return;
  }
  if (const auto tidied = owned_->forget_gone(gpu.uuid, *present); !tidied) {
    spdlog::error("{}", tidied.error().message);
  }
  const core::Node& node = engine_.scheduler().node();
  if (rebooted) {  // no instance and no job has survived
    engine_.post(core::GpuHealth{id, core::Health::kLost});
    engine_.post(core::GpuHealth{id, core::Health::kOk});
    health_[id.value()] = core::Health::kOk;
  } else {
    if (node.gpu(id).health != core::Health::kOk)
      set_health(id, core::Health::kOk, "the driver lists it");
    for (const core::Entry& entry : node.entries(id)) reconcile_entry(id, gpu, entry, *present);
  }
  for (const device::Instance& each : *present) {
    const auto placement = placement_of(id, each);
    if (!placement) continue;
    if (!rebooted && is_known(id, each)) continue;
    if (owned_->has(device::location_of(each)) && !is_orphaned(each)) {
      remove_leftover(id, each);
    } else {
      engine_.post(core::ForeignSeen{id, *placement});
    }
  }
}

void Hardware::reconcile_entry(core::GpuId id, const device::Gpu& gpu, const core::Entry& entry,
                               const std::vector<device::Instance>& present) {
  const std::string& profile =
      engine_.scheduler().node().model(id).profile(entry.placement.profile).name;
  const device::Instance* found = find_at(present, profile, entry.placement.start);
  const bool is_owned = found != nullptr && owned_->has(device::location_of(*found));
  if (is_owned) instances_.insert_or_assign(entry.id.value(), *found);
  if (found != nullptr && is_orphaned(*found)) {
    reconcile_orphaned(id, entry, *found);
    return;
  }
  switch (entry.state) {
    case core::EntryState::kReserved:
      return;
    case core::EntryState::kCreating: {
      const core::CreateInstance action{id, entry.id, entry.placement};
      if (is_owned && found->whole) {
        note_created(action, *found);
        return;
      }
      if (is_owned) {  // incomplete: destroy it, then create it again
        workers_->destroy(gpu.uuid, *found, limits(), [](const device::Outcome<void>& outcome) {
          if (!outcome) spdlog::error("{}", outcome.error().error.message);
        });
        instances_.erase(entry.id.value());
      }
      create(action);
      return;
    }
    case core::EntryState::kIdle:
      if (!is_owned) forget_missing(id, entry.placement);
      return;
    case core::EntryState::kHeld:
      if (found == nullptr) report_held_lost(id, entry, kRemovedByOthers);
      if (found != nullptr && !is_owned) {
        spdlog::error("GPU {}: the {} at {} is held by a job but not recorded as Tangram's",
                      id.value(), profile, found->start);
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
