// See daemon.hpp: the start, where what the store remembers meets what the driver and the shims
// show. One rule: every difference becomes an event, and nothing is placed before it is clear what
// is left.
#include <spdlog/spdlog.h>

#include "daemon/checkpoint_mover.hpp"
#include "daemon/daemon_parts.hpp"
#include "daemon/endpoints.hpp"
#include "daemon/engine.hpp"
#include "daemon/front.hpp"
#include "daemon/hardware.hpp"
#include "daemon/leases.hpp"
#include "daemon/replica_mover.hpp"
#include "daemon/supervisor.hpp"
#include "files/boot_id.hpp"
#include "http/server.hpp"
#include "shim/run_folder.hpp"

namespace tangram::daemon {

// Another boot of the machine; or none of what we had is there any more, which is as good as one.
bool Daemon::was_rebooted() const {
  const auto& facts = parts_->engine->facts();
  const auto boot = facts.find("boot");
  if (boot == facts.end()) return false;
  if (boot->second != files::boot_id()) return true;
  bool had_runs = false;
  for (const auto& [id, run] : parts_->engine->records().runs()) {
    if (run.over) continue;
    const store::JobRow* job = parts_->engine->records().job(run.job);
    if (job != nullptr && job->kind == "lease") {
      had_runs = true;
      continue;
    }
    const std::string folder = parts_->supervisor->folder_of(run);
    if (shim::shim_lives(folder) || !shim::was_started(folder)) return false;
    had_runs = true;
  }
  return had_runs && parts_->hardware->has_nothing();
}

void Daemon::agree() {
  Hands hands;
  hands.create = [this](const core::CreateInstance& wanted) { parts_->hardware->create(wanted); };
  hands.destroy = [this](const core::DestroyInstance& wanted) {
    parts_->hardware->destroy(wanted);
  };
  Leases& leases = parts_->front->leases();
  hands.start = [this, &leases](const core::StartJob& wanted) {
    leases.owns(wanted.job) ? leases.start(wanted) : parts_->supervisor->start(wanted);
  };
  hands.stop = [this, &leases](const core::StopJob& wanted) {
    leases.owns(wanted.job) ? leases.stop(wanted) : parts_->supervisor->stop(wanted);
  };
  hands.switch_traffic = [this](const core::SwitchTraffic& wanted) {
    parts_->supervisor->switch_traffic(wanted);
  };
  hands.move_over = [this](const core::MoveReport& report) {
    parts_->supervisor->move_over(report);
  };
  parts_->engine->use(std::move(hands), [this](const std::vector<std::uint64_t>& jobs) {
    parts_->endpoints->changed(jobs);
    parts_->front->changed(jobs);
  });
  parts_->endpoints->adopt();  // before runs: a switch under way is asked of them again
  parts_->hardware->on_lost = [this](core::GpuId gpu) { parts_->supervisor->end_runs_on(gpu); };
  parts_->hardware->on_gone = [this](core::InstanceId instance) {
    parts_->supervisor->end_runs_in(instance);
  };

  const bool rebooted = was_rebooted();
  if (rebooted) {
    spdlog::warn("the node was rebooted: no instance and no job of before is there any more");
    // Nothing is placed before it is clear what is left.
    for (const auto& [gpu, row] : parts_->engine->records().gpus()) {
      const core::Gpu& was = parts_->engine->scheduler().node().gpu(core::GpuId(gpu));
      if (was.health == core::Health::kOk) {
        parts_->engine->post(core::GpuHealth{core::GpuId(gpu), core::Health::kUnresponsive});
      }
      // The reboot has reset it; what an operator cordoned stays so.
      const auto& facts = parts_->engine->facts();
      const auto by_xid = facts.find(xid_cordon(core::GpuId(gpu)));
      if (was.cordoned && by_xid != facts.end() && by_xid->second == "yes") {
        parts_->engine->post(core::GpuUncordoned{core::GpuId(gpu)});
      }
    }
    parts_->supervisor->adopt(true);
    leases.adopt(true);
    give_up_runs();
    parts_->hardware->agree(true);
  } else {
    parts_->hardware->agree(false);
    parts_->supervisor->adopt(false);
    leases.adopt(false);
  }
  take_over_tuning();
  parts_->engine->wake_again();
}

// What ran when the node went down and left no exit record ended with it.
void Daemon::give_up_runs() {
  const auto note = [](Records& records) {
    std::vector<std::uint32_t> open;
    for (const auto& [id, run] : records.runs()) {
      if (!run.over) open.push_back(id);
    }
    for (const std::uint32_t id : open) {
      store::RunRow* run = records.edit_run(id);
      run->over = true;
      run->ended = Clock::wall();
      run->reason = "the node was rebooted while it ran";
      if (store::JobRow* job = records.edit_job(run->job)) job->reason = run->reason;
    }
  };
  parts_->engine->post(Input{.event = core::WakeUp{}, .note = note});
}

}  // namespace tangram::daemon
