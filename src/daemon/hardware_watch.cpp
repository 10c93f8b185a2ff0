// See hardware.hpp: what the driver tells and what is seen of the GPUs, and what follows from it.
// One rule: nothing here asks the driver or waits for the disk; this is the loop.
#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/hardware.hpp"
#include "daemon/hardware_threads.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::seconds kCountEvery{10};  // a reading takes the driver 20 ms

}  // namespace

void Hardware::watch() {
  const auto tell = [this](const device::DeviceEvent& event) {
    boost::asio::post(loop_, [this, alive = alive_, event] {
      if (*alive) told(event);
    });
  };
  events_ = std::make_unique<device::Events>(library_, gpus_, tell);
  counters_ = std::make_unique<device::Counters>(library_, gpus_, kCountEvery, nullptr);
  look_around();
}

std::optional<device::PcieThroughput> Hardware::throughput(const std::string& uuid) const {
  const auto sample = counters_ ? counters_->last(uuid) : std::nullopt;
  if (!sample || std::chrono::steady_clock::now() - sample->at > 3 * kCountEvery) {
    return std::nullopt;
  }
  return sample->throughput;
}

void Hardware::told(const device::DeviceEvent& event) {
  const auto id = id_of(event.gpu_uuid);
  if (!id) return;
  switch (event.kind) {
    case device::DeviceEvent::Kind::kUnavailable:
      set_health(*id, core::Health::kLost, cat("GPU ", event.gpu_uuid, " fell off the bus"));
      break;
    case device::DeviceEvent::Kind::kMigConfigChange:
      if (!changing(*id)) look(event.gpu_uuid);  // somebody else's
      break;
    case device::DeviceEvent::Kind::kXid:
      spdlog::warn("GPU {} reports Xid {}", id->value(), event.xid);
      if (options_.fatal_xids.contains(event.xid)) {
        spdlog::error(
            "GPU {} is cordoned: Xid {} is fatal. A reboot of the node or `tangram uncordon {}` "
            "takes it back into service.",
            id->value(), event.xid, id->value());
        engine_.post(Input{.event = core::GpuCordoned{*id}, .note = [gpu = *id](Records& records) {
                             records.set_fact(xid_cordon(gpu), "yes");
                           }});
      }
      look(event.gpu_uuid);
      break;
  }
}

void Hardware::seen(const Sight& sight) {
  auto known = std::ranges::find(gpus_, sight.gpu.uuid, &device::Gpu::uuid);
  if (known == gpus_.end()) return;
  const auto id = id_of(sight.gpu.uuid);
  if (sight.gpu.health == device::Health::kLost) {
    known->health = sight.gpu.health;
    known->trouble = sight.trouble;
    if (id) set_health(*id, core::Health::kLost, sight.trouble);
    return;
  }
  if (sight.gpu.health != device::Health::kOk || !sight.gpu.model) {
    known->trouble = sight.trouble;
    return;
  }
  const bool was_lost = known->health != device::Health::kOk;
  *known = sight.gpu;
  if (!id) {  // MIG mode was switched on meanwhile
    const bool on_its_way = ids_.contains(sight.gpu.uuid);
    if (sight.gpu.mig != device::MigMode::kOn || on_its_way || !sight.instances) return;
    workers_->update(sight.gpu);
    add_gpu(sight.gpu, *sight.instances);
    return;
  }
  if (!sight.instances) return;
  const core::Health health = health_of(*id);
  if (health == core::Health::kUnresponsive) {
    if (workers_->is_responsive(sight.gpu.uuid)) reconciled({sight.gpu.uuid, *sight.instances});
    return;
  }
  if (health == core::Health::kLost) {
    workers_->update(sight.gpu);
    set_health(*id, core::Health::kOk, "the driver lists it again");
    if (was_lost && events_) events_->listen_to(gpus_);  // a lost one is not listened to any more
  }
  compare(*id, sight);
}

std::optional<mig::Placement> Hardware::placement_of(core::GpuId id,
                                                     const device::Instance& instance) const {
  const auto profile = engine_.scheduler().node().model(id).find_profile(instance.profile);
  if (!profile) return std::nullopt;
  return mig::Placement{*profile, static_cast<std::uint8_t>(instance.start)};
}

void Hardware::compare(core::GpuId id, const Sight& sight) {
  if (!engine_.has_heard_driver()) {  // what is on its way may explain what we see: look again
    threads_->looks.at(sight.gpu.uuid).again = true;
    return;
  }
  forget_gone(id, sight);
  compare_foreign(id, sight);
  compare_idle(id, sight);
  compare_held(id, sight);
}

// With the changes of this GPU, because it waits for the disk, and must not take back what one of
// them claims afterwards.
void Hardware::forget_gone(core::GpuId id, const Sight& sight) {
  const std::vector<device::Place> gone = owned_->gone(sight.gpu.uuid, *sight.instances);
  if (gone.empty() || !forgetting_.insert(id.value()).second) return;
  const auto done = [this, alive = alive_, id](const device::Outcome<void>& outcome) {
    boost::asio::post(loop_, [this, alive, id, outcome] {
      if (!*alive) return;
      forgetting_.erase(id.value());
      if (!outcome) spdlog::error("{}", outcome.error().error.message);
    });
  };
  workers_->release(sight.gpu.uuid, gone, limits(), done);
}

// As the scheduler has it; remains of ours that it was told of as foreign are still to be removed.
bool Hardware::is_known(core::GpuId id, const device::Instance& instance) const {
  const auto placement = placement_of(id, instance);
  const bool ours = owned_->has(device::place_of(instance));
  return std::ranges::any_of(engine_.scheduler().node().entries(id), [&](const core::Entry& e) {
    return placement == e.placement && e.physical() &&
           !(ours && e.state == core::EntryState::kForeign);
  });
}

// Others' instances come and go; ours that the scheduler does not know are remains to be removed.
void Hardware::compare_foreign(core::GpuId id, const Sight& sight) {
  const core::Node& node = engine_.scheduler().node();
  for (const core::Entry& entry : node.entries(id)) {
    if (entry.state != core::EntryState::kForeign) continue;
    const bool stands = std::ranges::any_of(*sight.instances, [&](const device::Instance& each) {
      return placement_of(id, each) == entry.placement;
    });
    if (!stands) engine_.post(core::ForeignGone{id, entry.placement});
  }
  for (const device::Instance& each : *sight.instances) {
    const auto placement = placement_of(id, each);
    if (!placement) continue;  // a profile that we do not know: the driver will refuse its slices
    if (is_known(id, each)) continue;
    if (owned_->has(device::place_of(each))) {
      remove_leftover(id, each);
    } else {
      spdlog::info("GPU {}: {} at {} is not Tangram's; left alone", id.value(), each.profile,
                   each.start);
      engine_.post(core::ForeignSeen{id, *placement});
    }
  }
}

// Idle instances of ours: somebody removed one, or somebody's process lives in one.
void Hardware::compare_idle(core::GpuId id, const Sight& sight) {
  for (const core::Entry& entry : engine_.scheduler().node().entries(id)) {
    const bool idle = entry.state == core::EntryState::kIdle;
    if (!idle && entry.state != core::EntryState::kQuarantined) continue;
    const auto at = std::ranges::find_if(*sight.instances, [&](const device::Instance& each) {
      return placement_of(id, each) == entry.placement;
    });
    if (at == sight.instances->end()) {
      instances_.erase(entry.id.value());
      undestroyed_.erase(entry.id.value());
      if (idle) {
        spdlog::warn("GPU {}: an idle instance of Tangram's was removed by somebody", id.value());
        forget_vanished(id, entry.placement);
      } else {
        engine_.post(core::InstanceDestroyed{id, entry.id});
      }
      continue;
    }
    const bool used = std::ranges::any_of(
        sight.processes, [&](const device::Process& each) { return each.gi == at->gi; });
    if (used) undestroyed_.erase(entry.id.value());
    if (idle && used) engine_.post(core::InstanceQuarantined{id, entry.id});
    // What cannot be destroyed, with nobody in it, is not idle again: the scheduler tries later.
    const bool stuck = !at->whole || undestroyed_.contains(entry.id.value());
    if (!idle && !used && !stuck) engine_.post(core::QuarantineEnded{id, entry.id});
  }
}

// What a job holds stands, unless somebody removed it by force. The sight is younger than whatever
// we made: those that overlap one of our changes are not compared.
void Hardware::compare_held(core::GpuId id, const Sight& sight) {
  for (const core::Entry& entry : engine_.scheduler().node().entries(id)) {
    if (entry.state != core::EntryState::kHeld) continue;
    const bool stands = std::ranges::any_of(*sight.instances, [&](const device::Instance& each) {
      return placement_of(id, each) == entry.placement;
    });
    if (!stands) held_is_gone(id, entry);
  }
}

// Its job, or the replica of it, has lost its place; the run there is ended once that is on the
// disk.
void Hardware::held_is_gone(core::GpuId id, const core::Entry& entry) {
  const core::Node& node = engine_.scheduler().node();
  const core::Job& job = node.job(entry.job);
  const std::string& profile = node.model(id).profile(entry.placement.profile).name;
  const std::string why = cat("its instance is gone: somebody removed the ", profile, " at ",
                              int{entry.placement.start}, " from GPU ", id.value());
  spdlog::error("job {}: {}", job.id.value(), why);
  instances_.erase(entry.id.value());
  const bool is_replica = job.moving() && job.replica.instance == entry.id;
  engine_.post(Input{.event = core::InstanceDestroyed{id, entry.id},
                     .note =
                         [job = job.id.value(), is_replica, why](Records& records) {
                           store::MoveRow* move = is_replica ? records.edit_move(job) : nullptr;
                           store::JobRow* row = is_replica ? nullptr : records.edit_job(job);
                           if (move != nullptr) move->reason = why;
                           if (row != nullptr) row->reason = why;
                         },
                     .done =
                         [this, alive = alive_, instance = entry.id](const Result<void>& result) {
                           if (*alive && result && on_gone) on_gone(instance);
                         }});
}

// The scheduler has no word for it; a stranger who came and went says the same.
void Hardware::forget_vanished(core::GpuId id, const mig::Placement& placement) {
  engine_.post(core::ForeignSeen{id, placement});
  engine_.post(core::ForeignGone{id, placement});
}

// What we made and the scheduler does not have: its slices are not free until it is gone.
void Hardware::remove_leftover(core::GpuId id, const device::Instance& instance) {
  const device::Place place = device::place_of(instance);
  const auto placement = placement_of(id, instance);
  if (!leftovers_.insert(place).second) return;
  spdlog::warn("GPU {}: removing {} at {}, which was left behind", id.value(), instance.profile,
               instance.start);
  if (placement) engine_.post(core::ForeignSeen{id, *placement});
  ++under_way_[id.value()];
  ++changes_begun_[id.value()];
  const auto done = [this, alive = alive_, id, place, placement](device::Outcome<void> outcome) {
    boost::asio::post(loop_, [this, alive, id, place, placement, outcome = std::move(outcome)] {
      if (!*alive) return;
      --under_way_[id.value()];
      leftovers_.erase(place);
      if (outcome && placement) engine_.post(core::ForeignGone{id, *placement});
      if (!outcome) spdlog::error("{}", outcome.error().error.message);
    });
  };
  workers_->destroy(instance.gpu_uuid, instance, limits(), done);
}

}  // namespace tangram::daemon
