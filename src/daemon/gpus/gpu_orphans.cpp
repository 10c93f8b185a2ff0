// See hardware.hpp: instances of orphaned runs. An instance that the scheduler does not have counts
// as foreign. One that it has as idle is quarantined, like any idle instance with an unknown
// process. When the run has ended, the next poll removes the foreign one and frees the quarantined
// one.
#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/gpus/hardware.hpp"
#include "daemon/gpus/poll_state.hpp"

namespace tangram::daemon {
namespace {

constexpr const char* kUsedByOrphan = "an orphaned run uses";

}  // namespace

void Hardware::set_orphaned(std::set<std::string> mig_uuids) {
  orphaned_ = std::move(mig_uuids);
  if (events_) poll_all();  // not before start_polling()
}

// At start: the scheduler has an entry at the place of an orphaned instance. Nothing is placed on
// the GPU until settle_orphaned(), because the end of a run would make a held instance idle.
void Hardware::reconcile_orphaned(core::GpuId id, const core::Entry& entry,
                                  const device::Instance& instance) {
  switch (entry.state) {
    case core::EntryState::kHeld:
    case core::EntryState::kIdle:
      unsettled_.emplace_back(id, entry.id);
      engine_.post(core::GpuHealth{id, core::Health::kUnresponsive});
      return;
    case core::EntryState::kCreating:
      instances_.erase(entry.id.value());
      report_create_failure({id, entry.id, entry.placement},
                            cat(kUsedByOrphan, " the ", instance.profile, " there"));
      engine_.post(core::ForeignSeen{id, entry.placement});
      return;
    case core::EntryState::kDestroying:
    case core::EntryState::kQuarantined:
      destroy({id, entry.id});  // refused
      return;
    case core::EntryState::kReserved:
    case core::EntryState::kForeign:
      instances_.erase(entry.id.value());
      return;
  }
}

void Hardware::settle_orphaned() {
  for (const auto& [id, instance] : std::exchange(unsettled_, {})) {
    engine_.post(core::InstanceQuarantined{id, instance});  // if it is idle by now
    engine_.post(Input{.event = core::WakeUp{},
                       .done = [this, alive = alive_, id, instance](const Result<void>&) {
                         if (*alive) take_orphaned(id, instance);
                       }});
  }
}

void Hardware::take_orphaned(core::GpuId id, core::InstanceId instance) {
  const core::Entry* entry = engine_.scheduler().node().find(id, instance);
  if (entry != nullptr && entry->state == core::EntryState::kHeld) {
    const mig::Placement placement = entry->placement;
    report_held_lost(id, *entry, kUsedByOrphan);
    engine_.post(core::ForeignSeen{id, placement});
  }
  const auto reported = health_.find(id.value());  // by the driver
  if (reported == health_.end() || reported->second == core::Health::kOk) {
    engine_.post(core::GpuHealth{id, core::Health::kOk});
  }
}

}  // namespace tangram::daemon
