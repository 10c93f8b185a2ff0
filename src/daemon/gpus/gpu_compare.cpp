// See hardware.hpp: compares snapshots with the scheduler's state. Runs on the event loop: nothing
// here calls the driver or waits for the disk.
#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/gpus/hardware.hpp"
#include "daemon/gpus/poll_state.hpp"
#include "device/gpus.hpp"

namespace tangram::daemon {
void Hardware::on_snapshot(const GpuSnapshot& snapshot) {
  auto known = std::ranges::find(gpus_, snapshot.gpu.uuid, &device::Gpu::uuid);
  if (known == gpus_.end()) return;
  const auto id = id_of(snapshot.gpu.uuid);
  if (snapshot.gpu.health == device::Health::kLost) {
    known->health = snapshot.gpu.health;
    known->trouble = snapshot.trouble;
    if (id) set_health(*id, core::Health::kLost, snapshot.trouble);
    return;
  }
  if (snapshot.gpu.health == device::Health::kOk && is_mig_off(snapshot.gpu)) {
    *known = snapshot.gpu;
    note_mig_mode(*known, snapshot.mig_failure);
    if (id) take_out_of_service(*id);
    return;
  }
  if (snapshot.gpu.health != device::Health::kOk || !snapshot.gpu.model) {
    known->trouble = snapshot.trouble;
    return;
  }
  const bool was_lost = known->health != device::Health::kOk;
  *known = snapshot.gpu;
  note_mig_mode(*known, "");
  if (!id) {  // MIG mode was switched on meanwhile
    const bool is_posted = ids_.contains(snapshot.gpu.uuid);
    if (!is_mig_on(snapshot.gpu) || is_posted || !snapshot.instances) return;
    workers_->update(snapshot.gpu);
    add_gpu(snapshot.gpu, *snapshot.instances);
    return;
  }
  if (!snapshot.instances) return;
  const core::Health health = health_of(*id);
  if (health == core::Health::kUnresponsive) {
    if (workers_->is_responsive(snapshot.gpu.uuid))
      on_responsive({snapshot.gpu.uuid, *snapshot.instances});
    return;
  }
  if (health == core::Health::kLost) {
    workers_->update(snapshot.gpu);
    set_health(*id, core::Health::kOk, "the driver lists it again");
    if (was_lost && events_) events_->set_gpus(gpus_);  // its events ended when it was lost
  }
  compare(*id, snapshot);
}

std::optional<mig::Placement> Hardware::placement_of(core::GpuId id,
                                                     const device::Instance& instance) const {
  const auto profile = engine_.scheduler().node().model(id).find_profile(instance.profile);
  if (!profile) return std::nullopt;
  return mig::Placement{*profile, static_cast<std::uint8_t>(instance.start)};
}

void Hardware::compare(core::GpuId id, const GpuSnapshot& snapshot) {
  if (!engine_.driver_reports_processed()) {  // posted events may explain the differences
    poll_state_->polls.at(snapshot.gpu.uuid).repeat = true;
    return;
  }
  release_missing(id, snapshot);
  compare_foreign(id, snapshot);
  compare_idle(id, snapshot);
  compare_held(id, snapshot);
}

// Drops the ownership records of instances that have vanished. Queued with the GPU's changes
// because it waits for the disk and must not drop a record that a later change makes.
void Hardware::release_missing(core::GpuId id, const GpuSnapshot& snapshot) {
  const std::vector<device::InstanceLocation> gone =
      owned_->gone(snapshot.gpu.uuid, *snapshot.instances);
  if (gone.empty() || !releasing_.insert(id.value()).second) return;
  const auto done = [this, alive = alive_, id](const device::Outcome<void>& outcome) {
    boost::asio::post(loop_, [this, alive, id, outcome] {
      if (!*alive) return;
      releasing_.erase(id.value());
      if (!outcome) spdlog::error("{}", outcome.error().error.message);
    });
  };
  workers_->release(snapshot.gpu.uuid, gone, limits(), done);
}

// Whether the scheduler accounts for the instance. Leftovers of Tangram that were posted as foreign
// do not count: they are still to be removed.
bool Hardware::is_known(core::GpuId id, const device::Instance& instance) const {
  const auto placement = placement_of(id, instance);
  const bool is_owned = owned_->has(device::location_of(instance));
  return std::ranges::any_of(engine_.scheduler().node().entries(id), [&](const core::Entry& e) {
    return placement == e.placement && e.physical() &&
           (!is_owned || is_orphaned(instance) || e.state != core::EntryState::kForeign);
  });
}

bool Hardware::has_placement(core::GpuId id, const GpuSnapshot& snapshot,
                             const mig::Placement& placement) const {
  return std::ranges::any_of(*snapshot.instances, [&](const device::Instance& each) {
    return placement_of(id, each) == placement;
  });
}

// Posts foreign instances that appeared or vanished; removes leftovers of Tangram.
void Hardware::compare_foreign(core::GpuId id, const GpuSnapshot& snapshot) {
  const core::Node& node = engine_.scheduler().node();
  for (const core::Entry& entry : node.entries(id)) {
    if (entry.state != core::EntryState::kForeign) continue;
    if (!has_placement(id, snapshot, entry.placement))
      engine_.post(core::ForeignGone{id, entry.placement});
  }
  for (const device::Instance& each : *snapshot.instances) {
    const auto placement = placement_of(id, each);
    if (!placement) continue;  // unknown profile: the driver will refuse its slices
    if (is_known(id, each)) continue;
    if (owned_->has(device::location_of(each)) && !is_orphaned(each)) {
      remove_leftover(id, each);
    } else {
      spdlog::info("GPU {}: ignoring the foreign instance {} at {}", id.value(), each.profile,
                   each.start);
      engine_.post(core::ForeignSeen{id, *placement});
    }
  }
}

// Idle instances: another program may have removed one, or a process may use one.
void Hardware::compare_idle(core::GpuId id, const GpuSnapshot& snapshot) {
  for (const core::Entry& entry : engine_.scheduler().node().entries(id)) {
    const bool idle = entry.state == core::EntryState::kIdle;
    if (!idle && entry.state != core::EntryState::kQuarantined) continue;
    const auto at = std::ranges::find_if(*snapshot.instances, [&](const device::Instance& each) {
      return placement_of(id, each) == entry.placement;
    });
    if (at == snapshot.instances->end()) {
      instances_.erase(entry.id.value());
      destroy_failed_.erase(entry.id.value());
      if (idle) {
        spdlog::warn("GPU {}: another program removed an idle instance of Tangram's", id.value());
        forget_missing(id, entry.placement);
      } else {
        engine_.post(core::InstanceDestroyed{id, entry.id});
      }
      continue;
    }
    const bool used = is_orphaned(*at) ||
                      std::ranges::any_of(snapshot.processes,
                                          [&](const auto& each) { return each.gi == at->gi; });
    if (used) destroy_failed_.erase(entry.id.value());
    if (idle && used) engine_.post(core::InstanceQuarantined{id, entry.id});
    // An empty instance that could not be destroyed stays quarantined; the scheduler tries again.
    const bool stuck = !at->whole || destroy_failed_.contains(entry.id.value());
    if (!idle && !used && !stuck) engine_.post(core::QuarantineEnded{id, entry.id});
  }
}

// A held instance is missing only if another program removed it: snapshots that overlap a change of
// Tangram are not compared.
void Hardware::compare_held(core::GpuId id, const GpuSnapshot& snapshot) {
  for (const core::Entry& entry : engine_.scheduler().node().entries(id)) {
    if (entry.state != core::EntryState::kHeld) continue;
    if (!has_placement(id, snapshot, entry.placement))
      report_held_lost(id, entry, kRemovedByOthers);
  }
}

// The job that holds the instance, or its replica, has lost it; its run is ended once that is
// durable.
void Hardware::report_held_lost(core::GpuId id, const core::Entry& entry,
                                const std::string& cause) {
  const core::Node& node = engine_.scheduler().node();
  const core::Job& job = node.job(entry.job);
  const std::string& profile = node.model(id).profile(entry.placement.profile).name;
  const std::string why = cat("its instance is gone: ", cause, " the ", profile, " at ",
                              int{entry.placement.start}, " of GPU ", id.value());
  spdlog::error("job {}: {}", job.id.value(), why);
  instances_.erase(entry.id.value());
  const bool is_replica = job.moving() && job.replica.instance == entry.id;
  engine_.post(Input{.event = core::InstanceDestroyed{id, entry.id},
                     .edit_rows =
                         [job = job.id.value(), is_replica, why](JobTable& records) {
                           store::MoveRow* move = is_replica ? records.edit_move(job) : nullptr;
                           store::JobRow* row = is_replica ? nullptr : records.edit_job(job);
                           if (move != nullptr) move->reason = why;
                           if (row != nullptr) row->reason = why;
                         },
                     .done =
                         [this, alive = alive_, instance = entry.id](const Result<void>& result) {
                           if (*alive && result && on_instance_lost) on_instance_lost(instance);
                         }});
}

// Makes the scheduler forget an idle instance that vanished. It has no event for that; a foreign
// instance that appears and vanishes has the same effect.
void Hardware::forget_missing(core::GpuId id, const mig::Placement& placement) {
  engine_.post(core::ForeignSeen{id, placement});
  engine_.post(core::ForeignGone{id, placement});
}

// Destroys an instance of Tangram that the scheduler does not have. Its slices count as foreign
// until it is gone.
void Hardware::remove_leftover(core::GpuId id, const device::Instance& instance) {
  const device::InstanceLocation place = device::location_of(instance);
  const auto placement = placement_of(id, instance);
  if (!leftovers_.insert(place).second) return;
  spdlog::warn("GPU {}: removing the leftover instance {} at {}", id.value(), instance.profile,
               instance.start);
  if (placement) engine_.post(core::ForeignSeen{id, *placement});
  ++changes_in_flight_[id.value()];
  ++change_counts_[id.value()];
  const auto done = [this, alive = alive_, id, place, placement](device::Outcome<void> outcome) {
    boost::asio::post(loop_, [this, alive, id, place, placement, outcome = std::move(outcome)] {
      if (!*alive) return;
      --changes_in_flight_[id.value()];
      leftovers_.erase(place);
      if (outcome && placement) engine_.post(core::ForeignGone{id, *placement});
      if (!outcome) spdlog::error("{}", outcome.error().error.message);
    });
  };
  workers_->destroy(instance.gpu_uuid, instance, limits(), done);
}

}  // namespace tangram::daemon
