// See daemon.hpp: startup reconciles the stored state with what the driver and the shims report.
// Every difference is posted as an event, and nothing is placed before the actual state is known.
#include <spdlog/spdlog.h>

#include "daemon/endpoints/endpoints.hpp"
#include "daemon/engine/engine.hpp"
#include "daemon/gpus/hardware.hpp"
#include "daemon/leases/leases.hpp"
#include "daemon/moves/checkpoint_mover.hpp"
#include "daemon/moves/replica_mover.hpp"
#include "daemon/process/daemon_parts.hpp"
#include "daemon/runs/supervisor.hpp"
#include "daemon/service/api_service.hpp"
#include "http/server/server.hpp"
#include "os/boot_id.hpp"
#include "shim/run_folder.hpp"

namespace tangram::daemon {

// True if the boot id has changed, or if all earlier runs and instances are gone, which has the
// same consequences.
bool Daemon::was_rebooted() const {
  const auto& facts = parts_->engine->facts();
  const auto boot = facts.find("boot");
  if (boot == facts.end()) return false;
  if (boot->second != os::boot_id()) return true;
  if (parts_->supervisor->orphan_count() > 0) return false;  // the store is an older one
  bool had_runs = false;
  for (const auto& [id, run] : parts_->engine->records().runs()) {
    if (run.over) continue;
    const store::JobRow* job = parts_->engine->records().job(run.job);
    if (job != nullptr && job->kind == "lease") {
      had_runs = true;
      continue;
    }
    const std::string folder = parts_->supervisor->folder_of(run);
    if (shim::is_shim_running(folder) || !shim::was_started(folder)) return false;
    had_runs = true;
  }
  return had_runs && parts_->hardware->has_no_held_instances();
}

void Daemon::reconcile() {
  set_executors();
  Leases& leases = parts_->api->leases();
  parts_->endpoints->has_orphan_of = [this](std::uint64_t job) {
    return parts_->supervisor->has_orphan_of(job);
  };
  parts_->supervisor->on_orphans_changed = [this] { parts_->endpoints->end_orphans(); };
  // Before runs are recovered: a switch that was in progress is requested from an endpoint again.
  parts_->endpoints->recover();
  parts_->hardware->on_gpu_lost = [this](core::GpuId gpu) { parts_->supervisor->end_runs_on(gpu); };
  parts_->hardware->on_instance_lost = [this](core::InstanceId instance) {
    parts_->supervisor->end_runs_in(instance);
  };
  if (was_rebooted()) {
    spdlog::warn("node rebooted: all earlier instances and jobs are gone");
    suspend_gpus();
    parts_->supervisor->recover_runs(true);
    leases.recover(true);
    end_all_runs();
    parts_->hardware->reconcile(true);
  } else {
    parts_->hardware->reconcile(false);
    parts_->supervisor->recover_runs(false);
    leases.recover(false);
  }
  parts_->hardware->settle_orphaned();
  apply_configured_tuning();
  parts_->engine->rearm_wakeup();
}

void Daemon::set_executors() {
  Leases& leases = parts_->api->leases();
  ActionExecutors executors;
  executors.create = [this](const core::CreateInstance& action) {
    parts_->hardware->create(action);
  };
  executors.destroy = [this](const core::DestroyInstance& action) {
    parts_->hardware->destroy(action);
  };
  executors.start = [this, &leases](const core::StartJob& action) {
    leases.owns(action.job) ? leases.start(action) : parts_->supervisor->start(action);
  };
  executors.stop = [this, &leases](const core::StopJob& action) {
    leases.owns(action.job) ? leases.stop(action) : parts_->supervisor->stop(action);
  };
  executors.switch_traffic = [this](const core::SwitchTraffic& action) {
    parts_->supervisor->switch_traffic(action);
  };
  executors.end_move = [this](const core::MoveReport& report) {
    parts_->supervisor->on_move_report(report);
  };
  parts_->engine->set_executors(std::move(executors),
                                [this](const std::vector<std::uint64_t>& jobs) {
                                  parts_->endpoints->on_jobs_changed(jobs);
                                  parts_->api->on_jobs_changed(jobs);
                                });
}

// After a reboot: marks all GPUs unresponsive, so that nothing is placed on one before its
// instances are known, and undoes cordons that an Xid caused. Cordons set by an admin stay.
void Daemon::suspend_gpus() {
  for (const auto& [gpu, row] : parts_->engine->records().gpus()) {
    const core::Gpu& known = parts_->engine->scheduler().node().gpu(core::GpuId(gpu));
    if (known.health == core::Health::kOk) {
      parts_->engine->post(core::GpuHealth{core::GpuId(gpu), core::Health::kUnresponsive});
    }
    const auto& facts = parts_->engine->facts();
    const auto by_xid = facts.find(xid_cordon_key(core::GpuId(gpu)));
    if (known.cordoned && by_xid != facts.end() && by_xid->second == "yes") {
      parts_->engine->post(core::GpuUncordoned{core::GpuId(gpu)});
    }
  }
}

// Runs that left no exit record ended with the reboot.
void Daemon::end_all_runs() {
  const auto note = [](JobTable& records) {
    std::vector<std::uint32_t> active;
    for (const auto& [id, run] : records.runs()) {
      if (!run.over) active.push_back(id);
    }
    for (const std::uint32_t id : active) {
      store::RunRow* run = records.edit_run(id);
      run->over = true;
      run->ended = Clock::wall();
      run->reason = "the node was rebooted while it ran";
      if (store::JobRow* job = records.edit_job(run->job)) job->reason = run->reason;
    }
  };
  parts_->engine->post(Input{.event = core::WakeUp{}, .edit_rows = note});
}

}  // namespace tangram::daemon
