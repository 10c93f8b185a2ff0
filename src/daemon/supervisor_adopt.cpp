// See supervisor.hpp: the runs of an earlier daemon.
#include <filesystem>
#include <set>
#include <unistd.h>
#include <utility>

#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/checkpoint_folder.hpp"
#include "daemon/forgotten_folders.hpp"
#include "daemon/supervisor.hpp"
#include "daemon/supervisor_threads.hpp"
#include "shim/run_folder.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::milliseconds kCompleteAgain{5'000};
constexpr const char* kUnread = "its request cannot be read";

void is_read_again(Engine& engine, std::uint64_t job) {
  const store::JobRow* row = engine.records().job(job);
  if (row == nullptr || !row->reason.starts_with(kUnread)) return;
  engine.post(Input{.event = core::WakeUp{}, .note = [job](Records& records) {
                      if (store::JobRow* mine = records.edit_job(job)) mine->reason.clear();
                    }});
}

}  // namespace

void Supervisor::adopt(bool rebooted) {
  const core::Node& node = engine_.scheduler().node();
  for (const core::JobSlot slot : node.jobs_by_id()) {
    const core::Job& job = node.job(slot);
    if (job.kind == core::JobKind::kLease) continue;  // has no shim
    for (const core::Replica* replica : {&job.main, &job.replica}) {
      if (replica->run == core::kNoRun) continue;
      const store::RunRow* row = engine_.records().run(replica->run.value());
      if (row == nullptr) {
        spdlog::error("job {}: there is no record of its run {}", job.id.value(),
                      replica->run.value());
        engine_.post(core::JobExited{job.id, replica->run, false});
        continue;
      }
      adopt({.job = job.id,
             .run = replica->run,
             .gpu = replica->gpu,
             .instance = replica->instance,
             .replica = replica == &job.replica},
            *row, replica->ready, rebooted);
    }
    // A switch that was asked of the last daemon; what it answered already is passed over.
    if (job.move == core::MovePhase::kSwitching || job.move == core::MovePhase::kDraining) {
      switch_traffic({.job = job.id, .from = job.main.run, .to = job.replica.run});
    }
  }
  if (!rebooted) end_strays();
  remove_stray_runs();
  remove_stray_checkpoints();
}

void Supervisor::adopt(const core::StartJob& was, const store::RunRow& row, bool is_ready,
                       bool rebooted) {
  const std::string folder = folder_of(row);
  const bool lives = !rebooted && shim::shim_lives(folder);
  const auto record = shim::read_exit(folder);
  const bool over = record && *record;
  if (rebooted && !over) return;  // goes with its GPU; see Daemon
  const bool was_started = shim::was_started(folder);
  if (!lives && !over && !was_started && !row.stop_asked && !may_still_begin(was, folder)) {
    start(was);
    return;
  }
  const RunPtr run = make_run(was, row);
  if (const auto completed = complete(*run, row); !completed) {
    say(run, cat(kUnread, ", so it is only watched: ", completed.error().message));
  } else {
    is_read_again(engine_, was.job.value());
  }
  run->is_ready = is_ready;
  run->stop_wanted = row.stop_asked;
  run->stop_grace = grace_of(*run);
  if (lives) {
    link(run);
  } else if (over) {
    ended(run, **record);
  } else if (was_started) {
    lost(run);
  } else {
    never_began(run, row.stop_asked ? "ended before it began"
                                    : "tangramd was restarted while it was being started");
  }
}

// Whether a shim of the last daemon's may be on its way to a folder that it has made. Preparing the
// move anew would thaw the original, and a successor that begins then would run beside it.
bool Supervisor::may_still_begin(const core::StartJob& was, const std::string& folder) const {
  return was.replica && &mover_of(was.job) == checkpoint_mover_ &&
         ::access(folder.c_str(), F_OK) == 0;
}

// Nothing is decided about a run whose request could not be read: whether it is ready, how it is
// moved. It lives, and the store may be well again soon.
void Supervisor::complete_later(const RunPtr& run) {
  run->timer.expires_after(kCompleteAgain);
  run->timer.async_wait([this, alive = alive_, run](const boost::system::error_code& stopped) {
    if (stopped || !*alive || run->phase != Run::Phase::kLinked || !run->pid) return;
    const store::RunRow* row = engine_.records().run(run->run.value());
    if (row == nullptr || !complete(*run, *row)) return complete_later(run);
    is_read_again(engine_, run->job.value());
    running(run, *run->pid);
  });
}

// Shims of runs that the scheduler has given up (its GPU was lost, the store is an older one).
void Supervisor::end_strays() {
  std::set<std::string> known;
  for (const auto& [id, run] : runs_) known.insert(run->folder);
  for (const std::string& folder : folders_below(options_.runs)) {
    if (known.contains(folder) || !shim::shim_lives(folder)) continue;
    spdlog::warn("ending a run that belongs to no job: {}", folder);
    auto run = std::make_shared<Run>(loop_);
    run->folder = folder;
    run->spec.tag = tag_of(folder);
    run->run = core::RunId(0xF0000000U + static_cast<std::uint32_t>(threads_->strays++));
    runs_.insert_or_assign(run->run.value(), run);
    run->stop_wanted = true;
    run->stop_grace = std::chrono::milliseconds(0);
    link(run);
  }
}

// Of jobs that are not in the store: forgotten without a word, or those of another store.
void Supervisor::remove_stray_checkpoints() {
  std::vector<std::string> strays;
  for (const std::string& folder : folders_below(options_.checkpoints)) {
    const auto job = engine_.store().job(number_of(folder));
    if (!job) {
      spdlog::error("{}", job.error().message);
      return;
    }
    if (!*job || checkpoint_of(**job) != folder) strays.push_back(folder);
  }
  if (strays.empty()) return;
  boost::asio::post(threads_->removing,
                    [strays = std::move(strays)] { remove_checkpoints(strays); });
}

// Of runs that are not in the store: forgotten by a daemon that died before it could remove them.
void Supervisor::remove_stray_runs() {
  const auto kept = engine_.store().kept_runs();
  if (!kept) {
    spdlog::error("{}", kept.error().message);
    return;
  }
  const std::set<std::uint64_t> known(kept->begin(), kept->end());
  std::vector<std::string> strays;  // now: later there are new ones
  for (const std::string& folder : folders_below(options_.runs)) {
    if (!known.contains(number_of(folder))) strays.push_back(folder);
  }
  if (strays.empty()) return;
  boost::asio::post(threads_->removing, [strays = std::move(strays)] { remove_dead(strays); });
}

void Supervisor::remove_folders(const store::Trimmed& gone) {
  boost::asio::post(threads_->removing,
                    [gone, runs = options_.runs, checkpoints = options_.checkpoints] {
                      remove_forgotten(runs, checkpoints, gone);
                    });
}

}  // namespace tangram::daemon
