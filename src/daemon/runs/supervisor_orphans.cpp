// See supervisor.hpp: runs and folders without a job in the store. Orphans are live runs of another
// store: they keep running, and their instances are not used, until they end or an admin ends them.
// Folders without a live run are moved to lost+found.
#include <algorithm>
#include <filesystem>
#include <set>
#include <unistd.h>
#include <utility>

#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/gpus/hardware.hpp"
#include "daemon/runs/lost_found.hpp"
#include "daemon/runs/run_folder_gc.hpp"
#include "daemon/runs/supervisor.hpp"
#include "daemon/runs/supervisor_threads.hpp"
#include "shim/run_folder.hpp"

namespace tangram::daemon {
namespace {

namespace fs = std::filesystem;

constexpr core::GpuId kNoGpu{0xFFFFFFFFU};

std::string variable(const api::RunSpec& spec, const char* name) {
  const auto at = spec.environment.find(name);
  return at == spec.environment.end() ? "" : at->second;
}

// Shims of earlier versions were not given TANGRAM_MIG_UUID.
std::string mig_uuid_of(const api::RunSpec& spec) {
  const std::string uuid = variable(spec, "TANGRAM_MIG_UUID");
  return uuid.empty() ? variable(spec, "CUDA_VISIBLE_DEVICES") : uuid;
}

// Moves the folders, of runs or of checkpoints, and logs where they are.
void move_all(const std::string& lost_found, std::string_view kind,
              const std::vector<std::string>& folders, store::WallTime now) {
  std::size_t moved = 0;
  std::string place;
  for (const std::string& folder : folders) {
    const auto to = move_to_lost_found(lost_found, kind, folder, now);
    if (to) {
      ++moved;
      place = *to;
      spdlog::info("moved {} to {}", folder, *to);
    } else {
      spdlog::error("{}", to.error().message);
    }
  }
  if (moved == 0) return;
  spdlog::warn("{} {} folders without a job in the store are now in {}", moved,
               kind == "runs" ? "run" : "checkpoint", fs::path(place).parent_path().string());
}

}  // namespace

Result<void> Supervisor::find_orphans() {
  const auto kept = engine_.store().kept_runs();
  if (!kept) return std::unexpected(kept.error());
  std::set<std::string> known;
  for (const store::KeptRun& each : *kept) {
    store::RunRow row;
    row.run = each.run;
    row.asked = each.asked;
    known.insert(folder_of(row));
  }
  for (const std::string& folder : list_folders(options_.runs)) {
    if (known.contains(folder)) continue;
    if (!name_of_folder(folder)) {
      spdlog::warn("{} is not the folder of a run: ignored", folder);
    } else if (shim::is_shim_running(folder)) {
      adopt_orphan(folder);
    } else {
      threads_->unknown_run_folders.push_back(folder);
    }
  }
  keep_orphaned_instances();
  return {};
}

// A run that is not the scheduler's: with a number of its own, which no GPU or instance refers to.
Supervisor::RunPtr Supervisor::make_jobless_run(const std::string& folder) {
  auto run = std::make_shared<Run>(loop_);
  run->folder = folder;
  run->gpu = kNoGpu;
  run->run = core::RunId(0xF0000000U + threads_->jobless++);
  if (auto spec = shim::read_spec(folder)) {
    run->spec = *std::move(spec);
    run->mig_uuid = mig_uuid_of(run->spec);
    run->uid = run->spec.user ? run->spec.user->uid : geteuid();
  } else {
    spdlog::error("{}", spec.error().message);
    run->spec.tag = tag_of(folder);
  }
  runs_.insert_or_assign(run->run.value(), run);
  return run;
}

void Supervisor::adopt_orphan(const std::string& folder) {
  const RunPtr run = make_jobless_run(folder);
  run->is_orphan = true;
  const auto number = name_of_folder(folder)->id;
  spdlog::warn(
      "run {} of job {} (uid {}) is not in the store: it keeps running as an orphan in {}, and its "
      "instance {} is not used. To end it: tangram orphan end {}",
      number, run->spec.job, run->uid, folder, run->mig_uuid, number);
  open_link(run);
}

std::vector<Supervisor::Orphan> Supervisor::orphans() const {
  std::vector<Orphan> found;
  for (const auto& [id, run] : runs_) {
    if (run->is_orphan) found.push_back(orphan_of(*run));
  }
  // By time if two have the same number: it was assigned again after a restore.
  std::ranges::sort(found, {}, [](const Orphan& each) {
    const auto name = name_of_folder(each.folder);
    return std::pair(name->id, name->time);
  });
  return found;
}

Supervisor::Orphan Supervisor::orphan_of(const Run& run) {
  return {.run = name_of_folder(run.folder)->id,
          .job = run.spec.job,
          .uid = run.uid,
          .mig_uuid = run.mig_uuid,
          .gpu_uuid = variable(run.spec, "TANGRAM_GPU_UUID"),
          .folder = run.folder,
          .pid = run.pid,
          .is_ending = run.is_stop_requested};
}

std::size_t Supervisor::orphan_count() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(runs_, [](const auto& each) { return each.second->is_orphan; }));
}

bool Supervisor::has_orphan_of(std::uint64_t job) const {
  return std::ranges::any_of(runs_, [job](const auto& each) {
    return each.second->is_orphan && each.second->spec.job == job;
  });
}

std::optional<Supervisor::Orphan> Supervisor::end_orphan(std::uint64_t number) {
  std::vector<Orphan> all = orphans();
  std::erase_if(all, [number](const Orphan& each) { return each.run != number; });
  if (all.empty()) return std::nullopt;
  const auto running = std::ranges::find(all, false, &Orphan::is_ending);
  const std::string folder = running == all.end() ? all.front().folder : running->folder;
  const auto at =
      std::ranges::find_if(runs_, [&](const auto& each) { return each.second->folder == folder; });
  const RunPtr run = at->second;
  spdlog::info("ending the orphaned run {} of job {}", number, run->spec.job);
  send_stop(run, std::nullopt);
  return orphan_of(*run);
}

void Supervisor::keep_orphaned_instances() {
  std::set<std::string> uuids;
  for (const auto& [id, run] : runs_) {
    if (run->is_orphan) uuids.insert(run->mig_uuid);
  }
  hardware_.set_orphaned(std::move(uuids));
}

void Supervisor::on_orphan_ended(const RunPtr& run) {
  spdlog::info("the orphaned run {} of job {} has ended", orphan_of(*run).run, run->spec.job);
  threads_->unknown_run_folders.push_back(run->folder);
  move_unknown_folders();
  keep_orphaned_instances();
  if (on_orphans_changed) on_orphans_changed();
}

// Moves the run and checkpoint folders that have no job in the store and that no orphan uses.
void Supervisor::move_unknown_folders() {
  std::vector<std::string> runs = std::exchange(threads_->unknown_run_folders, {});
  std::set<std::string> used;
  for (const auto& [id, run] : runs_) {
    if (run->is_orphan) used.insert(variable(run->spec, "TANGRAM_CHECKPOINT"));
  }
  std::vector<std::string> checkpoints;
  for (const std::string& folder : list_folders(options_.checkpoints)) {
    const auto name = name_of_folder(folder);
    if (!name || used.contains(folder)) continue;
    const auto job = engine_.store().job(name->id);
    if (!job) {
      spdlog::error("{}", job.error().message);
      break;
    }
    if (!*job || checkpoint_of(**job) != folder) checkpoints.push_back(folder);
  }
  if (runs.empty() && checkpoints.empty()) return;
  boost::asio::post(threads_->removing,
                    [lost_found = options_.lost_found, runs = std::move(runs),
                     checkpoints = std::move(checkpoints), now = Clock::wall()] {
                      move_all(lost_found, "runs", runs, now);
                      move_all(lost_found, "checkpoints", checkpoints, now);
                    });
}

void Supervisor::remove_old_lost_found(store::WallTime oldest) {
  if (!threads_->is_lost_found_due.exchange(false)) return;
  boost::asio::post(threads_->removing,
                    [lost_found = options_.lost_found, oldest, threads = threads_.get()] {
                      daemon::remove_old_lost_found(lost_found, oldest, threads->is_stopping);
                      threads->is_lost_found_due = true;
                    });
}

}  // namespace tangram::daemon
