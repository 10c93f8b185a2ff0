// See supervisor.hpp: ends runs whose shim is gone.
#include <unistd.h>
#include <utility>

#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/runs/supervisor.hpp"
#include "daemon/runs/supervisor_threads.hpp"
#include "shim/processes.hpp"
#include "shim/run_folder.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::milliseconds kKillTimeout{10'000};
constexpr std::chrono::milliseconds kKillRetry{30'000};

// Kills what the run in `folder` has left. `known`: its mark as far as the daemon knows it, for a
// folder whose files are missing or damaged. Blocks.
shim::KillResult kill_run(const std::string& folder, shim::RunMark known) {
  auto mark = shim::read_mark(folder);
  if (mark) return shim::kill_all(*mark, kKillTimeout);
  const ErrorCode code = mark.error().code;
  if (code != ErrorCode::kNotFound && code != ErrorCode::kInvalid) {
    return {.all_gone = false, .remaining = {}, .problem = mark.error().message};
  }
  const auto started = shim::read_started(folder);
  if (started && *started && !(*started)->tag.empty()) known.tag = (*started)->tag;
  return shim::kill_all(known, kKillTimeout);
}

// Why the run has not ended yet, as its job's reason.
std::string why_held(const shim::KillResult& killed) {
  if (!killed.problem.empty()) {
    return cat("shim lost; its instance stays held until its processes are known to be gone: ",
               killed.problem);
  }
  std::string left;
  for (const shim::Unreachable& each : killed.remaining) {
    left += cat(left.empty() ? "" : ", ", each.pid, " (", each.reason, ")");
  }
  return cat("shim lost; cannot kill the processes ", left,
             "; its instance stays held until they are gone");
}

}  // namespace

// The shim is gone without an exit record: the run ends once all its processes are killed.
void Supervisor::on_shim_lost(const RunPtr& run) {
  run->phase = Run::Phase::kKilling;
  spdlog::error("job {}: the shim of run {} is lost; killing its processes", run->job.value(),
                run->run.value());
  shim::RunMark known{.tag = run->spec.tag.empty() ? tag_of(run->folder) : run->spec.tag,
                      .cgroup = run->spec.cgroup};
  if (known.uid == 0) known.uid = run->uid;
  boost::asio::post(threads_->killing,
                    [this, alive = alive_, run, folder = run->folder, known = std::move(known)] {
                      const shim::KillResult killed = kill_run(folder, known);
                      boost::asio::post(loop_, [this, alive, run, killed] {
                        if (*alive) on_killed(run, killed);
                      });
                    });
}

void Supervisor::on_killed(const RunPtr& run, const shim::KillResult& killed) {
  if (killed.all_gone) {
    store::RunRow outcome;
    outcome.reason = "shim lost";
    report_if_resumed(run, [this, run, outcome] { finish_run(run, outcome, false, true); });
    return;
  }
  set_reason(run, why_held(killed));
  run->timer.expires_after(kKillRetry);
  run->timer.async_wait([this, alive = alive_, run](const boost::system::error_code& stopped) {
    if (!stopped && *alive) on_shim_lost(run);
  });
}

}  // namespace tangram::daemon
