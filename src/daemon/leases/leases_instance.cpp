// See leases.hpp: grants the instance and reclaims it.
#include <algorithm>
#include <ranges>

#include <boost/json/parse.hpp>
#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/engine/run_end.hpp"
#include "daemon/gpus/hardware.hpp"
#include "daemon/leases/lease_timers.hpp"
#include "daemon/leases/leases.hpp"
#include "daemon/runs/cgroup_processes.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::milliseconds kMaxCheckInterval{2'000};

// The reason that lists the processes left in the instance, or in the lease's cgroup.
std::string why_occupied(const std::vector<unsigned>& pids, const std::string& where) {
  constexpr std::size_t kMaxNamed = 20;
  std::string list;
  for (const unsigned pid : pids | std::views::take(kMaxNamed)) {
    list += cat(list.empty() ? "" : ", ", pid);
  }
  if (pids.size() > kMaxNamed) list += cat(" and ", pids.size() - kMaxNamed, " more");
  return cat("waiting for ", pids.size() == 1 ? "process " : "processes ", list,
             where.empty() ? "" : " in ", where, " to exit");
}

// Why the instance cannot be reused yet; empty: it can.
std::string obstacle(const std::optional<std::vector<unsigned>>& occupants,
                     const std::string& cgroup) {
  if (!occupants) {
    return "waiting for the driver, which cannot list the processes in the instance now; check the "
           "kernel's log and `nvidia-smi`";
  }
  if (!occupants->empty()) return why_occupied(*occupants, "");
  if (cgroup.empty()) return "";
  const auto members = processes_in_cgroup(cgroup);
  if (!members)
    return cat("waiting for ", cgroup, " to become readable: ", members.error().message);
  return members->empty() ? "" : why_occupied(*members, cgroup);
}

}  // namespace

bool Leases::owns(core::JobId job) const {
  const store::JobRow* row = engine_.records().job(job.value());
  return row != nullptr && row->kind == "lease";
}

// The instance exists: grants the lease and starts its TTL.
void Leases::start(const core::StartJob& action) {
  const auto note = [id = action.job.value(), run = action.run.value()](JobTable& records) {
    const auto now = Clock::wall();
    if (store::LeaseRow* lease = records.edit_lease(id)) {
      lease->granted = now;
      lease->deadline = deadline_of(*lease);
    }
    if (store::RunRow* row = records.edit_run(run)) row->started = now;
    if (store::JobRow* row = records.edit_job(id)) row->started = now;
  };
  engine_.post(Input{.event = core::JobReady{action.job, action.run}, .edit_rows = note});
}

void Leases::stop(const core::StopJob& action) {
  auto& vacating = timers_->vacating[action.run.value()];
  if (vacating != nullptr) return;
  vacating = std::make_unique<Timers::Vacating>(loop_);
  vacating->cgroup = cgroup_of(action.job.value());
  check_vacated(action.job, action.run);
}

// The cgroup of the request, which only the store has; empty: none.
std::string Leases::cgroup_of(std::uint64_t id) {
  const auto stored = engine_.store().job(id);
  if (!stored || !*stored) return "";
  boost::system::error_code bad;
  const auto request = api::read_lease_request(boost::json::parse((*stored)->request, bad));
  return bad || !request ? "" : request->cgroup;
}

void Leases::check_vacated(core::JobId job, core::RunId run) {
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(job);
  if (slot == core::kNoJob || node.job(slot).main.run != run) {  // its GPU was lost
    timers_->vacating.erase(run.value());
    return;
  }
  const core::Replica& main = node.job(slot).main;
  hardware_.list_processes(main.gpu, main.instance,
                           [this, alive = alive_, job, run,
                            gpu = main.gpu](const std::optional<std::vector<unsigned>>& pids) {
                             const auto at = timers_->vacating.find(run.value());
                             if (!*alive || at == timers_->vacating.end()) return;
                             const std::string why = obstacle(pids, at->second->cgroup);
                             if (why.empty()) {
                               on_vacated(job, run, gpu);
                             } else {
                               on_occupied(job, run, why);
                             }
                           });
}

// Checks again after a growing delay: processes that are left keep the instance.
void Leases::on_occupied(core::JobId job, core::RunId run, const std::string& why) {
  Timers::Vacating& vacating = *timers_->vacating.at(run.value());
  if (std::exchange(vacating.why, why) != why) {
    spdlog::info("lease {}: {}", job.value(), why);
    engine_.post(
        Input{.event = core::WakeUp{}, .edit_rows = [id = job.value(), why](JobTable& records) {
                store::JobRow* row = records.edit_job(id);
                if (row != nullptr && !row->over) row->reason = why;
              }});
  }
  vacating.timer.expires_after(vacating.wait);
  vacating.wait = std::min(2 * vacating.wait, kMaxCheckInterval);
  vacating.timer.async_wait(
      [this, alive = alive_, job, run](const boost::system::error_code& stopped) {
        if (!stopped && *alive) check_vacated(job, run);
      });
}

void Leases::on_vacated(core::JobId job, core::RunId run, core::GpuId gpu) {
  timers_->vacating.erase(run.value());
  hardware_.on_run_ended(gpu);
  engine_.post(Input{.event = core::JobExited{job, run, true},
                     .edit_rows = [id = run.value()](JobTable& records) {
                       store::RunRow* row = records.edit_run(id);
                       if (row == nullptr || row->over) return;
                       daemon::end_run(*row, {}, read_clocks());
                     }});
}

// Ends the run of a lease that the scheduler ended itself because its GPU was lost.
void Leases::end_run(const store::JobRow& row) {
  const store::RunRow* run = row.run ? engine_.records().run(*row.run) : nullptr;
  if (run == nullptr || run->over) return;
  timers_->vacating.erase(run->run);
  engine_.post(Input{.event = core::WakeUp{}, .edit_rows = [id = run->run](JobTable& records) {
                       store::RunRow* open = records.edit_run(id);
                       if (open == nullptr || open->over) return;
                       daemon::end_run(*open, {}, read_clocks());
                     }});
}

void Leases::recover(bool rebooted) {
  const core::Node& node = engine_.scheduler().node();
  for (const core::JobSlot slot : node.jobs_by_id()) {
    if (node.job(slot).kind == core::JobKind::kLease) recover(node.job(slot), rebooted);
  }
  sweep();
}

// The clients that waited for it were disconnected by the restart: gives them time to come back.
void Leases::keep_waiting(std::uint64_t id) {
  engine_.post(Input{.event = core::WakeUp{},
                     .edit_rows =
                         [id](JobTable& records) {
                           store::LeaseRow* row = records.edit_lease(id);
                           if (row == nullptr) return;
                           const auto now = Clock::since_boot();
                           row->wait_until = std::min(row->wait_until, now + row->linger);
                           row->wait_until =
                               std::max(row->wait_until, now + Micros(kRecoveryGrace));
                         },
                     .done =
                         [this, alive = alive_, id](const Result<void>& /*never refused*/) {
                           if (!*alive) return;
                           recovering_.erase(id);
                           sweep();
                         }});
  recovering_.insert(id);
}

// Its holder could not renew it while no daemon ran.
void Leases::extend_granted(std::uint64_t id) {
  engine_.post(Input{.event = core::WakeUp{},
                     .edit_rows =
                         [id](JobTable& records) {
                           const auto soon = Clock::since_boot() + kRecoveryGrace;
                           store::LeaseRow* row = records.edit_lease(id);
                           if (row == nullptr || !deadline_of(*row)) return;
                           row->deadline = std::max(row->deadline.value_or(soon), soon);
                         },
                     .done =
                         [this, alive = alive_, id](const Result<void>& /*never refused*/) {
                           if (!*alive) return;
                           if (--renewals_in_flight_[id] == 0) renewals_in_flight_.erase(id);
                           sweep();
                         }});
  ++renewals_in_flight_[id];
}

void Leases::recover(const core::Job& job, bool rebooted) {
  const std::uint64_t id = job.id.value();
  const store::LeaseRow* lease = engine_.records().lease(id);
  if (rebooted) {  // a granted lease ends with its GPU; see Daemon::suspend_gpus()
    if (job.main.run == core::kNoRun) end(id, "the node was rebooted");
    return;
  }
  switch (job.phase) {
    case core::JobPhase::kQueued:
    case core::JobPhase::kHeld:
      if (lease == nullptr || lease->linger.count() == 0) {
        end(id, "tangramd was restarted and no client waits for it");
      } else {
        keep_waiting(id);
      }
      return;
    case core::JobPhase::kPlaced:
      return;
    case core::JobPhase::kStarting:
      start({.job = job.id,
             .run = job.main.run,
             .gpu = job.main.gpu,
             .instance = job.main.instance,
             .replica = false});
      return;
    case core::JobPhase::kRunning:
      if (!hardware_.has_instance(job.main.instance)) {
        end(id, "its instance is gone");
        return;
      }
      extend_granted(id);
      return;
    case core::JobPhase::kStopping:
      stop({.job = job.id, .run = job.main.run});
      return;
  }
}

}  // namespace tangram::daemon
