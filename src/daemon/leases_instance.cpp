// See leases.hpp: the instance handed out and taken back.
#include <algorithm>
#include <ranges>

#include <boost/json/parse.hpp>
#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/cgroup_processes.hpp"
#include "daemon/hardware.hpp"
#include "daemon/leases.hpp"
#include "daemon/leases_timing.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::milliseconds kLongestWait{2'000};

// Why the instance is not free: who is left in it, or in the control group of its lease.
std::string why_occupied(const std::vector<unsigned>& pids, const std::string& where) {
  constexpr std::size_t kMostNamed = 20;
  std::string list;
  for (const unsigned pid : pids | std::views::take(kMostNamed)) {
    list += cat(list.empty() ? "" : ", ", pid);
  }
  if (pids.size() > kMostNamed) list += cat(" and ", pids.size() - kMostNamed, " more");
  return cat("its instance is free once ", pids.size() == 1 ? "process " : "the processes ", list,
             where.empty() ? "" : " in ", where, pids.size() == 1 ? " has ended" : " have ended");
}

// What keeps the instance from being given on; empty: nothing does.
std::string obstacle(const std::optional<std::vector<unsigned>>& occupants,
                     const std::string& cgroup) {
  if (!occupants) {
    return "its instance is free once the driver says which processes are in it, which it does "
           "not do now; look at the kernel's log and at `nvidia-smi`";
  }
  if (!occupants->empty()) return why_occupied(*occupants, "");
  if (cgroup.empty()) return "";
  const auto members = processes_in_cgroup(cgroup);
  if (!members)
    return cat("its instance is free once ", cgroup, " can be read: ", members.error().message);
  return members->empty() ? "" : why_occupied(*members, cgroup);
}

}  // namespace

bool Leases::owns(core::JobId job) const {
  const store::JobRow* row = engine_.records().job(job.value());
  return row != nullptr && row->kind == "lease";
}

// It is there: from now on its time runs.
void Leases::start(const core::StartJob& wanted) {
  const auto note = [id = wanted.job.value(), run = wanted.run.value()](Records& records) {
    const auto now = Clock::wall();
    if (store::LeaseRow* lease = records.edit_lease(id)) {
      lease->granted = now;
      lease->deadline = deadline_of(*lease);
    }
    if (store::RunRow* row = records.edit_run(run)) row->started = now;
    if (store::JobRow* row = records.edit_job(id)) row->started = now;
  };
  engine_.post(Input{.event = core::JobReady{wanted.job, wanted.run}, .note = note});
}

void Leases::stop(const core::StopJob& wanted) {
  auto& vacating = timing_->vacating[wanted.run.value()];
  if (vacating != nullptr) return;
  vacating = std::make_unique<Timing::Vacating>(loop_);
  vacating->cgroup = cgroup_of(wanted.job.value());
  vacate(wanted.job, wanted.run);
}

// As it was asked for.
std::string Leases::cgroup_of(std::uint64_t id) {
  const auto stored = engine_.store().job(id);
  if (!stored || !*stored) return "";
  boost::system::error_code bad;
  const auto request = api::read_lease_request(boost::json::parse((*stored)->request, bad));
  return bad || !request ? "" : request->cgroup;
}

void Leases::vacate(core::JobId job, core::RunId run) {
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(job);
  if (slot == core::kNoJob || node.job(slot).main.run != run) {  // its GPU was lost
    timing_->vacating.erase(run.value());
    return;
  }
  const core::Replica& main = node.job(slot).main;
  hardware_.occupants(main.gpu, main.instance,
                      [this, alive = alive_, job, run,
                       gpu = main.gpu](const std::optional<std::vector<unsigned>>& pids) {
                        const auto at = timing_->vacating.find(run.value());
                        if (!*alive || at == timing_->vacating.end()) return;
                        const std::string why = obstacle(pids, at->second->cgroup);
                        if (why.empty()) {
                          vacated(job, run, gpu);
                        } else {
                          occupied(job, run, why);
                        }
                      });
}

// Who is still there keeps the instance; asked again and again, ever more slowly.
void Leases::occupied(core::JobId job, core::RunId run, const std::string& why) {
  Timing::Vacating& vacating = *timing_->vacating.at(run.value());
  if (std::exchange(vacating.why, why) != why) {
    spdlog::info("lease {}: {}", job.value(), why);
    engine_.post(Input{.event = core::WakeUp{}, .note = [id = job.value(), why](Records& records) {
                         store::JobRow* row = records.edit_job(id);
                         if (row != nullptr && !row->over) row->reason = why;
                       }});
  }
  vacating.timer.expires_after(vacating.wait);
  vacating.wait = std::min(2 * vacating.wait, kLongestWait);
  vacating.timer.async_wait(
      [this, alive = alive_, job, run](const boost::system::error_code& stopped) {
        if (!stopped && *alive) vacate(job, run);
      });
}

void Leases::vacated(core::JobId job, core::RunId run, core::GpuId gpu) {
  timing_->vacating.erase(run.value());
  hardware_.run_ended(gpu);
  engine_.post(
      Input{.event = core::JobExited{job, run, true}, .note = [id = run.value()](Records& records) {
              store::RunRow* row = records.edit_run(id);
              if (row == nullptr || row->over) return;
              row->over = true;
              row->ended = Clock::wall();
            }});
}

// A lease can be over without its holder or us: its GPU was lost.
void Leases::end_run(const store::JobRow& row) {
  const store::RunRow* run = row.run ? engine_.records().run(*row.run) : nullptr;
  if (run == nullptr || run->over) return;
  timing_->vacating.erase(run->run);
  engine_.post(Input{.event = core::WakeUp{}, .note = [id = run->run](Records& records) {
                       store::RunRow* open = records.edit_run(id);
                       if (open == nullptr || open->over) return;
                       open->over = true;
                       open->ended = Clock::wall();
                     }});
}

void Leases::adopt(bool rebooted) {
  const core::Node& node = engine_.scheduler().node();
  for (const core::JobSlot slot : node.jobs_by_id()) {
    if (node.job(slot).kind == core::JobKind::kLease) adopt(node.job(slot), rebooted);
  }
  sweep();
}

// Its askers went with the last daemon, and have some seconds at least to come back.
void Leases::keep_place(std::uint64_t id) {
  engine_.post(Input{.event = core::WakeUp{},
                     .note =
                         [id](Records& records) {
                           store::LeaseRow* row = records.edit_lease(id);
                           if (row == nullptr) return;
                           const auto now = Clock::since_boot();
                           row->wait_until = std::min(row->wait_until, now + row->linger);
                           row->wait_until = std::max(row->wait_until, now + Micros(kAfterTrouble));
                         },
                     .done =
                         [this, alive = alive_, id](const Result<void>& /*a fact*/) {
                           if (!*alive) return;
                           coming_back_.erase(id);
                           sweep();
                         }});
  coming_back_.insert(id);
}

// Its holder could not renew it meanwhile.
void Leases::keep_granted(std::uint64_t id) {
  engine_.post(Input{.event = core::WakeUp{},
                     .note =
                         [id](Records& records) {
                           const auto soon = Clock::since_boot() + kAfterTrouble;
                           store::LeaseRow* row = records.edit_lease(id);
                           if (row == nullptr || !deadline_of(*row)) return;
                           row->deadline = std::max(row->deadline.value_or(soon), soon);
                         },
                     .done =
                         [this, alive = alive_, id](const Result<void>& /*a fact*/) {
                           if (!*alive) return;
                           if (--renewing_[id] == 0) renewing_.erase(id);
                           sweep();
                         }});
  ++renewing_[id];
}

void Leases::adopt(const core::Job& job, bool rebooted) {
  const std::uint64_t id = job.id.value();
  const store::LeaseRow* lease = engine_.records().lease(id);
  if (rebooted) {  // one that was granted goes with its GPU; see Daemon
    if (job.main.run == core::kNoRun) end(id, "the node was rebooted");
    return;
  }
  switch (job.phase) {
    case core::JobPhase::kQueued:
    case core::JobPhase::kHeld:
      if (lease == nullptr || lease->linger.count() == 0) {
        end(id, "tangramd was restarted, and whoever asked for it has left");
      } else {
        keep_place(id);
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
      if (!hardware_.stands(job.main.instance)) {
        end(id, "its instance is gone");
        return;
      }
      keep_granted(id);
      return;
    case core::JobPhase::kStopping:
      stop({.job = job.id, .run = job.main.run});
      return;
  }
}

}  // namespace tangram::daemon
