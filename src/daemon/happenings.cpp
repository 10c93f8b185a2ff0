// See happenings.hpp.
#include "daemon/happenings.hpp"

#include <utility>

#include "base/text.hpp"
#include "core/transcript.hpp"
#include "daemon/clock.hpp"
#include "daemon/tuning_text.hpp"

namespace tangram::daemon {
namespace {

// Everybody reads events: of a job, nothing that may name its command or its folders.
std::string because(const store::JobRow* row) {
  if (row == nullptr) return "";
  if (row->kind == "lease") return row->reason.empty() ? "" : cat(": ", row->reason);
  if (row->exit_signal) return cat(": it was ended by signal ", *row->exit_signal);
  return row->exit_code && *row->exit_code != 0 ? cat(": it exited with ", *row->exit_code) : "";
}

}  // namespace

std::string why_held(std::uint8_t holds, const std::string& profile) {
  if ((holds & core::kHoldUnservable) != 0) {
    return cat("no GPU in service has the profile ", profile);
  }
  return (holds & core::kHoldUser) != 0 ? "held by its user" : "held at its user's limit";
}

api::EventView& Happenings::happen(std::string kind, std::string text) {
  Happened& each = out_.emplace_back();
  each.step = step_;
  each.view.time = Clock::wall();
  each.view.kind = std::move(kind);
  each.view.text = std::move(text);
  return each.view;
}

// With an empty kind, it is no news of such a job.
void Happenings::happen_to(std::uint64_t job, std::string_view job_kind,
                           std::string_view lease_kind, std::string_view what) {
  const store::JobRow* row = records_.job(job);
  if (row == nullptr) return;
  const bool is_lease = row->kind == "lease";
  const std::string_view kind = is_lease ? lease_kind : job_kind;
  if (kind.empty()) return;
  api::EventView& view =
      happen(cat(is_lease ? "lease." : "job.", kind),
             cat(is_lease ? "lease " : "job ", job, " (", printable(row->name), ") ", what));
  view.job = job;
  view.name = row->name;
  if (const store::LeaseRow* lease = records_.lease(job)) view.key = lease->key;
  view.user = row->user;
  view.profile = row->profile;
  view.gpu = row->gpu;
  view.start = row->start;
  const core::JobSlot slot = node_.find_job(core::JobId(job));
  if (slot == core::kNoJob) return;
  const core::Replica& main = node_.job(slot).main;
  const core::Entry* entry =
      main.instance == core::kNoInstance ? nullptr : node_.find(main.gpu, main.instance);
  view.gpu.reset();
  view.start.reset();
  if (entry == nullptr) return;
  view.gpu = main.gpu.value();
  view.start = entry->placement.start;
}

std::string Happenings::why_held(std::uint64_t job) const {
  const core::JobSlot slot = node_.find_job(core::JobId(job));
  if (slot == core::kNoJob) return "";
  return daemon::why_held(node_.job(slot).holds, node_.name(node_.job(slot).profile));
}

bool Happenings::known(core::GpuId gpu) const { return gpu.value() < node_.gpu_count(); }

void Happenings::happen_to(core::GpuId gpu, std::string_view kind, std::string_view what) {
  api::EventView& view = happen(
      cat("gpu.", kind), cat("GPU ", gpu.value(), " ", what, by_.empty() ? "" : cat(", by ", by_)));
  view.gpu = gpu.value();
  view.user = by_;
}

void Happenings::before(const core::Event& event, const std::string& by) {
  by_ = by;
  std::visit([&](const auto& each) { add(each); }, event);
}

void Happenings::add(const core::JobSubmitted& e) {
  submitted_ = e.spec.id.value();
  happen_to(*submitted_, "submitted", "waiting",
            cat("asks for a ", e.spec.profile, e.spec.held ? ", held" : ""));
}

void Happenings::add(const core::GpuAdded& e) {
  const core::GpuId id(static_cast<std::uint32_t>(node_.gpu_count()));
  happen_to(id, "added", cat("(", e.model->name(), ") is in service"));
}

void Happenings::add(const core::GpuHealth& e) {
  if (!known(e.gpu) || node_.gpu(e.gpu).health == e.health) return;
  happen_to(e.gpu, "health", cat("is ", core::name_of(e.health)));
}

void Happenings::add(const core::GpuCordoned& e) {
  if (known(e.gpu) && !node_.gpu(e.gpu).cordoned) happen_to(e.gpu, "cordoned", "was cordoned");
}

void Happenings::add(const core::GpuUncordoned& e) {
  if (known(e.gpu) && node_.gpu(e.gpu).cordoned) happen_to(e.gpu, "uncordoned", "was uncordoned");
}

void Happenings::add(const core::GpuDrained& e) {
  if (known(e.gpu) && !node_.gpu(e.gpu).draining) happen_to(e.gpu, "draining", "is being drained");
}

// The move itself is reported when it begins; here, who wanted it.
void Happenings::add(const core::MoveAsked& e) {
  if (records_.job(e.job.value()) == nullptr) return;
  happen_to(e.job.value(), "asked", "",
            cat("is to be moved", e.anywhere ? "" : cat(" to ", e.gpu.value(), ":", int{e.start}),
                by_.empty() ? "" : cat(", by ", by_)));
  out_.back().view.kind = "move.asked";
}

void Happenings::add(const core::TrafficSwitched& e) {
  const core::JobSlot slot = node_.find_job(e.job);
  if (slot == core::kNoJob || records_.job(e.job.value()) == nullptr) return;
  const core::Job& job = node_.job(slot);
  if (job.move != core::MovePhase::kSwitching || job.replica.run != e.run) return;
  happen_to(e.job.value(), "switched", "",
            cat("is served by its replica on GPU ", job.replica.gpu.value(), " at ",
                int{job.replica_start}, " now"));
  out_.back().view.kind = "move.switched";
}

void Happenings::add(const core::TuningChanged& e) {
  if (e.tuning == node_.tuning()) return;
  happen("tuning.changed", cat("the tuning was changed", by_.empty() ? "" : cat(" by ", by_), ": ",
                               what_changed(node_.tuning(), e.tuning)));
  out_.back().view.user = by_;
}

void Happenings::after(std::span<const core::Action> actions) {
  for (const core::Action& action : actions) {
    std::visit([&](const auto& each) { add(each); }, action);
  }
}

void Happenings::add(const core::JobReport& report) {
  const std::uint64_t id = report.job.value();
  const store::JobRow* row = records_.job(id);
  const auto say = [&](std::string_view job_kind, std::string_view lease_kind,
                       const std::string& what) { happen_to(id, job_kind, lease_kind, what); };
  switch (report.news) {
    case core::JobNews::kQueued:
      if (submitted_ != id) say("queued", "", "waits for room");
      return;
    case core::JobNews::kHeld:
      return say("held", "", cat("is held: ", why_held(id)));
    case core::JobNews::kPlaced:
      return say("placed", "", "has a place");
    case core::JobNews::kRunning:
      return say("running", "granted",
                 row != nullptr && row->kind == "lease" ? "is granted" : "runs");
    case core::JobNews::kRequeued:
      return say("requeued", "", cat("waits again", because(row)));
    case core::JobNews::kFinished:
      return say("completed", "over", cat("is over", because(row)));
    case core::JobNews::kFailed:
    case core::JobNews::kCreateFailed:
      return say("failed", "over", cat("failed", because(row)));
    case core::JobNews::kCancelled:
      return say(
          "cancelled", "over",
          cat(row != nullptr && row->kind == "lease" ? "is over" : "was cancelled", because(row)));
    case core::JobNews::kRefusedProfile:
    case core::JobNews::kRefusedDuplicate:
      return say("refused", "over", "was refused: no GPU of this node has its profile");
    case core::JobNews::kLost:
      return say("lost", "", "lost its place: its GPU or its instance is gone");
    case core::JobNews::kStopStuck:
      return say("stopping", "releasing", "cannot be stopped; it keeps its slices");
    case core::JobNews::kSwitchStuck:
      return;
  }
}

void Happenings::add(const core::StartJob& start) {
  if (!start.replica) happen_to(start.job.value(), "starting", "", "is being started");
}

// Told once, and only if the job ends with it: a move stops the original too.
void Happenings::add(const core::StopJob& stop) {
  const store::RunRow* run = records_.run(stop.run.value());
  const core::JobSlot slot = node_.find_job(stop.job);
  if (slot == core::kNoJob || run == nullptr || run->stop_asked) return;
  const core::Job& job = node_.job(slot);
  if (job.phase != core::JobPhase::kStopping || job.main.run != stop.run) return;
  happen_to(stop.job.value(), "stopping", "releasing",
            cat(job.kind == core::JobKind::kLease ? "is being released" : "is being stopped",
                because(records_.job(stop.job.value()))));
}

// What is known of it before it is recorded as over.
std::string Happenings::why_rolled_back(const core::MoveReport& report) const {
  const store::MoveRow* move = records_.move(report.job.value());
  return move == nullptr || move->reason.empty() ? "" : cat(": ", move->reason);
}

void Happenings::add(const core::MoveReport& report) {
  const store::JobRow* row = records_.job(report.job.value());
  std::string kind;
  switch (report.news) {
    case core::MoveNews::kBegun:
      kind = "begun";
      break;
    case core::MoveNews::kDone:
      kind = "done";
      break;
    case core::MoveNews::kRolledBack:
      kind = "rolled-back";
      break;
    case core::MoveNews::kTakenOver:
      kind = "taken-over";
      break;
  }
  api::EventView& view = happen(
      cat("move.", kind),
      cat("the ", core::name_of(report.kind), " move of job ", report.job.value(), " from GPU ",
          report.from.value(), " to GPU ", report.to.value(), " at ", report.start, " is ",
          report.news == core::MoveNews::kBegun ? "under way" : core::name_of(report.news),
          report.news == core::MoveNews::kRolledBack ? why_rolled_back(report) : ""));
  view.job = report.job.value();
  view.gpu = report.to.value();
  view.start = report.start;
  if (row == nullptr) return;
  view.name = row->name;
  view.user = row->user;
  view.profile = row->profile;
}

void Happenings::add(const core::GpuReport& report) {
  by_.clear();  // the scheduler says so
  const auto placed = [&](std::string_view kind, std::string_view what) {
    const mig::Profile& profile = node_.model(report.gpu).profile(report.placement.profile);
    happen_to(report.gpu, kind,
              cat("has its ", profile.name, " at ", report.placement.start, what));
    out_.back().view.profile = profile.name;
    out_.back().view.start = report.placement.start;
  };
  switch (report.news) {
    case core::GpuNews::kQuarantined:
      return placed("quarantined", " quarantined");
    case core::GpuNews::kQuarantineEnded:
      return placed("unquarantined", " back from quarantine");
    case core::GpuNews::kDrained:
      return happen_to(report.gpu, "drained", "is drained: no job is left on it");
    case core::GpuNews::kLayoutIncomplete:
      return;
  }
}

}  // namespace tangram::daemon
