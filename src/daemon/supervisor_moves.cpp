// See supervisor.hpp: runs that are moved.
#include <algorithm>
#include <sys/stat.h>
#include <utility>

#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "daemon/checkpoint_folder.hpp"
#include "daemon/mover.hpp"
#include "daemon/supervisor.hpp"
#include "daemon/supervisor_threads.hpp"
#include "shim/run_folder.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::milliseconds kLookEvery{20};
constexpr std::chrono::milliseconds kAnswerTime{10'000};  // a shim itself gives up before
constexpr std::chrono::milliseconds kSettleAgain{1'000};

}  // namespace

void Supervisor::use(Mover& replica, Mover& checkpoint) {
  replica_mover_ = &replica;
  checkpoint_mover_ = &checkpoint;
}

// Only batch jobs save checkpoints, and only services have replicas.
Mover& Supervisor::mover_of(core::JobId job) const {
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(job);
  const bool is_batch = slot != core::kNoJob && node.job(slot).kind == core::JobKind::kBatch;
  return is_batch ? *checkpoint_mover_ : *replica_mover_;
}

void Supervisor::prepare(const RunPtr& run, const core::StartJob& wanted) {
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(wanted.job);
  const core::RunId original = slot == core::kNoJob ? core::kNoRun : node.job(slot).main.run;
  mover_of(wanted.job)
      .prepare(wanted, original, [this, alive = alive_, run](const Result<void>& prepared) {
        if (!*alive || run->phase != Run::Phase::kWaiting) return;
        const store::RunRow* row = engine_.records().run(run->run.value());
        if (!prepared || row == nullptr) {
          never_began(run, prepared ? "it is not recorded" : prepared.error().message);
          return;
        }
        run->wanted_since = std::chrono::steady_clock::now();
        begin(run, *row);
      });
}

// A run that goes on from a checkpoint: until it does, or is given up, its original is frozen.
bool Supervisor::is_successor(const Run& run) const {
  return run.is_replica && &mover_of(run.job) == checkpoint_mover_;
}

void Supervisor::switch_traffic(const core::SwitchTraffic& wanted) {
  mover_of(wanted.job).switch_over(wanted);
}

void Supervisor::move_over(const core::MoveReport& report) {
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(report.job);
  if (slot == core::kNoJob || report.news != core::MoveNews::kRolledBack) return;
  mover_of(report.job).take_back(report.job, node.job(slot).main.run);
}

std::optional<Supervisor::Moving> Supervisor::moving_of(core::RunId run) const {
  const auto at = runs_.find(run.value());
  if (at == runs_.end() || at->second->phase != Run::Phase::kLinked) return std::nullopt;
  if (!at->second->is_complete) return std::nullopt;  // how, nobody knows
  return Moving{.options = at->second->move, .checkpoint = at->second->checkpoint};
}

Result<void> Supervisor::signal(core::RunId run, int signal) {
  const auto at = runs_.find(run.value());
  if (at == runs_.end() || !at->second->link || !at->second->pid) {
    return failed(cat("run ", run.value(), " has no process that could be signalled."));
  }
  // A loader or a tool that the job has forked knows nothing of this signal, and would die of it.
  at->second->link->send({{"do", "signal"}, {"signal", signal}, {"to", "main"}});
  return {};
}

void Supervisor::freeze(core::RunId run, bool frozen, std::function<void(Result<void>)> done) {
  const auto at = runs_.find(run.value());
  const bool is_reached = at != runs_.end() && at->second->link;
  if (!is_reached || (!frozen && has_other_run(*at->second))) {
    const std::string why = is_reached
                                ? "another run of its job has not ended yet."
                                : cat("the supervisor of run ", run.value(), " is not reached.");
    boost::asio::post(loop_, [alive = alive_, why, done = std::move(done)] {
      if (*alive) done(failed(why));
    });
    return;
  }
  const RunPtr& each = at->second;
  const std::int64_t id = ++each->last_question;
  if (frozen) each->is_frozen = true;
  each->questions[id] = [weak = std::weak_ptr<Run>(each), id, frozen,
                         done = std::move(done)](const Result<void>& result) {
    const auto self = weak.lock();
    if (self && result && !frozen && id == self->last_question) self->is_frozen = false;
    done(result);
  };
  each->link->send({{"do", frozen ? "freeze" : "thaw"}, {"id", id}});
  await_answer(each, id);
}

// A shim that stands still, or a stream that stalls, must not hold up a move for ever.
void Supervisor::await_answer(const RunPtr& run, std::int64_t id) {
  auto timer = std::make_shared<boost::asio::steady_timer>(loop_, kAnswerTime);
  timer->async_wait([alive = alive_, timer, id,
                     weak = std::weak_ptr<Run>(run)](const boost::system::error_code& stopped) {
    const RunPtr self = weak.lock();
    if (stopped || !*alive || !self) return;
    const auto question = self->questions.extract(id);
    if (question.empty()) return;
    question.mapped()(
        failed(cat("its supervisor did not answer within ", api::duration_text(kAnswerTime), ".")));
  });
}

void Supervisor::answered(const RunPtr& run, const boost::json::object& line) {
  const auto* id = line.if_contains("done");
  const auto* ok = line.if_contains("ok");
  const auto* detail = line.if_contains("detail");
  const auto at =
      id != nullptr && id->is_int64() ? run->questions.find(id->get_int64()) : run->questions.end();
  if (at == run->questions.end()) return;
  const auto done = std::move(at->second);
  run->questions.erase(at);
  if (ok != nullptr && ok->is_bool() && ok->get_bool()) {
    done({});
  } else {
    done(failed(detail != nullptr && detail->is_string() ? std::string(detail->get_string())
                                                         : "its supervisor refused."));
  }
}

void Supervisor::forget_questions(const RunPtr& run, const std::string& why) {
  for (auto& [id, done] : std::exchange(run->questions, {})) {
    boost::asio::post(loop_, [alive = alive_, done = std::move(done), why] {
      if (*alive) done(failed(why));
    });
  }
}

bool Supervisor::announced(const std::string& folder, const char* file) {
  struct stat found{};
  return lstat(cat(folder, "/", file).c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

// The successor goes on from the checkpoint once it says so.
void Supervisor::look_for_resumed(const RunPtr& run) {
  if (run->phase != Run::Phase::kLinked || run->is_ready || run->stop_wanted) return;
  if (announced(run->checkpoint, kResumedFile)) {
    ready(run);
    return;
  }
  if (!run->probe_until) {
    run->probe_until = std::chrono::steady_clock::now() + run->move.deadline;
  }
  if (std::chrono::steady_clock::now() >= *run->probe_until) {
    run->stop_reason = cat("it did not resume within ", api::duration_text(run->move.deadline),
                           " (no file \"resumed\" in $TANGRAM_CHECKPOINT)");
    send_stop(run, std::chrono::milliseconds(0));
    return;
  }
  run->timer.expires_after(kLookEvery);
  run->timer.async_wait([this, alive = alive_, run](const boost::system::error_code& stopped) {
    if (!stopped && *alive) look_for_resumed(run);
  });
}

// What is frozen, or gave its work to a successor, is killed where it stands and does not run
// again; and of a successor that is given up nothing runs while the original goes on.
std::optional<std::chrono::milliseconds> Supervisor::grace_of(const Run& run) const {
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(run.job);
  if (slot == core::kNoJob || run.checkpoint.empty()) return std::nullopt;
  const core::Job& job = node.job(slot);
  const bool is_left = job.moving() && job.main.run == run.run &&
                       (job.replica.ready || run.is_frozen || has_begun(job));
  const bool is_given_up = job.moving() && job.replica.run == run.run;
  if (!is_left && !is_given_up) return std::nullopt;
  return std::chrono::milliseconds(0);
}

// Of a move that is under way; one that was started as a replica may be the job by now.
bool Supervisor::is_replica_now(const Run& run) const {
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(run.job);
  return slot != core::kNoJob && node.job(slot).moving() && node.job(slot).replica.run == run.run;
}

// Whether its replica is the job already: how it ends is then nothing of the job.
bool Supervisor::was_left(const Run& run) const {
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(run.job);
  if (slot == core::kNoJob) return false;
  const core::Job& job = node.job(slot);
  return job.move == core::MovePhase::kStopping && job.main.run == run.run;
}

// Whether the replica of a job that is moved may have run.
bool Supervisor::has_begun(const core::Job& job) const {
  const store::RunRow* successor =
      job.moving() ? engine_.records().run(job.replica.run.value()) : nullptr;
  return successor != nullptr && shim::was_started(folder_of(*successor));
}

void Supervisor::settle(core::RunId run) {
  const auto at = runs_.find(run.value());
  if (at != runs_.end()) agree_on_freeze(at->second);
}

// A move may have left an original frozen, ours or an earlier daemon's: with a successor at work it
// stays so, without one it goes on.
void Supervisor::agree_on_freeze(const RunPtr& run) {
  if (run->checkpoint.empty() || run->stop_wanted || run->phase == Run::Phase::kGone) return;
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(run->job);
  if (slot == core::kNoJob) return;
  const core::Job& job = node.job(slot);
  if (job.replica.run == run->run) return;  // a successor is never frozen
  const bool is_followed = has_begun(job);
  if (job.moving() && !is_followed) return;  // it is being prepared
  if (!is_followed && has_other_run(*run)) return settle_later(run, kLookEvery);
  if (!is_followed) withdraw_saved(run->checkpoint);
  freeze(run->run, is_followed,
         [this, alive = alive_, weak = std::weak_ptr<Run>(run)](const Result<void>& result) {
           const RunPtr self = weak.lock();
           if (*alive && self) settled(self, result);
         });
}

// What stands still and should not does nobody any good: it is tried again, and said.
void Supervisor::settled(const RunPtr& run, const Result<void>& result) {
  if (run->phase == Run::Phase::kGone || run->stop_wanted) return;
  const std::string trouble =
      result ? ""
             : cat("it cannot be frozen or thawed as its move demands: ", result.error().message,
                   " It is tried again.");
  const std::string before = std::exchange(run->freeze_trouble, trouble);
  if (result) {
    if (!before.empty()) unsay(run, before);
    return;
  }
  if (trouble != before) say(run, trouble);
  settle_later(run, kSettleAgain);
}

void Supervisor::settle_later(const RunPtr& run, std::chrono::milliseconds wait) {
  run->freeze_timer.expires_after(wait);
  run->freeze_timer.async_wait(
      [this, alive = alive_, run](const boost::system::error_code& stopped) {
        if (!stopped && *alive) agree_on_freeze(run);
      });
}

// A successor whose GPU was lost is given up before its processes are gone.
bool Supervisor::has_other_run(const Run& run) const {
  return std::ranges::any_of(runs_, [&](const auto& each) {
    const Run& other = *each.second;
    return other.job == run.job && other.run != run.run && other.phase != Run::Phase::kWaiting;
  });
}

}  // namespace tangram::daemon
