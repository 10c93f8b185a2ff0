// See leases.hpp: the instance handed out and taken back.
#include <algorithm>

#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/hardware.hpp"
#include "daemon/leases.hpp"
#include "daemon/leases_timing.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::seconds kAfterRestart{5};  // at least so long for holders to renew
constexpr std::chrono::milliseconds kLongestWait{2'000};

std::string pid_list(const std::vector<unsigned>& pids) {
  std::string text;
  for (const unsigned pid : pids) text += cat(text.empty() ? "" : ", ", pid);
  return text;
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
      lease->deadline = Clock::since_boot() + lease->ttl;
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
  vacate(wanted.job, wanted.run);
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
                        if (!*alive || !timing_->vacating.contains(run.value())) return;
                        if (pids && pids->empty()) {
                          vacated(job, run, gpu);
                        } else {
                          occupied(job, run, pids.value_or(std::vector<unsigned>()));
                        }
                      });
}

// Who is still there keeps the instance; asked again and again, ever more slowly.
void Leases::occupied(core::JobId job, core::RunId run, const std::vector<unsigned>& pids) {
  Timing::Vacating& vacating = *timing_->vacating.at(run.value());
  if (!pids.empty() && pids != vacating.pids) {
    vacating.pids = pids;
    const std::string why =
        cat("its instance is free once ", pids.size() == 1 ? "process " : "the processes ",
            pid_list(pids), pids.size() == 1 ? " has ended" : " have ended");
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
                           row->wait_until = std::max(row->wait_until, now + Micros(kAfterRestart));
                         },
                     .done =
                         [this, alive = alive_, id](const Result<void>& /*a fact*/) {
                           if (!*alive) return;
                           coming_back_.erase(id);
                           sweep();
                         }});
  coming_back_.insert(id);
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
      engine_.post(Input{.event = core::WakeUp{},
                         .note =
                             [id](Records& records) {
                               const auto soon = Clock::since_boot() + kAfterRestart;
                               store::LeaseRow* row = records.edit_lease(id);
                               if (row == nullptr) return;
                               row->deadline = std::max(row->deadline.value_or(soon), soon);
                             },
                         .done =
                             [this, alive = alive_, id](const Result<void>& /*a fact*/) {
                               if (!*alive) return;
                               if (--renewing_[id] == 0) renewing_.erase(id);
                               sweep();
                             }});
      ++renewing_[id];
      return;
    case core::JobPhase::kStopping:
      stop({.job = job.id, .run = job.main.run});
      return;
  }
}

}  // namespace tangram::daemon
