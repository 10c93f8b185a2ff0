// See event_writer.hpp.
#include "daemon/engine/event_writer.hpp"

#include <utility>

#include "api/dependency.hpp"
#include "base/text.hpp"
#include "core/transcript.hpp"
#include "daemon/engine/clock.hpp"
#include "daemon/engine/tuning_text.hpp"

namespace tangram::daemon {
namespace {

// ": " and why a job ended; "" if unknown. All users may read events, so nothing that could name
// the job's command or folders.
std::string reason_suffix(const store::JobRow* row) {
  if (row == nullptr) return "";
  if (row->kind == "lease") return row->reason.empty() ? "" : cat(": ", row->reason);
  if (row->exit_signal) return cat(": killed by signal ", *row->exit_signal);
  return row->exit_code && *row->exit_code != 0 ? cat(": exit code ", *row->exit_code) : "";
}

}  // namespace

std::string why_held(std::uint8_t holds, const store::JobRow& row) {
  if ((holds & core::kHoldUnservable) != 0) {
    return cat("no GPU in service has the profile ", row.profile);
  }
  if ((holds & core::kHoldUser) != 0) return "held by its user";
  if ((holds & core::kHoldDependency) != 0) {
    return cat("waiting for ", api::awaited_text(api::read_stored_dependencies(row.waits_for)));
  }
  if ((holds & core::kHoldArray) != 0) return "as many tasks of its array are active as may be";
  return "held at the limit of its user or group";
}

api::EventView& EventWriter::append(std::string kind, std::string text) {
  PendingEvent& each = out_.emplace_back();
  each.step = step_;
  each.view.time = Clock::wall();
  each.view.kind = std::move(kind);
  each.view.text = std::move(text);
  return each.view;
}

void EventWriter::add_job_event(std::uint64_t job, std::string_view job_kind,
                                std::string_view lease_kind, std::string_view text) {
  const store::JobRow* row = records_.job(job);
  if (row == nullptr) return;
  const bool is_lease = row->kind == "lease";
  const std::string_view kind = is_lease ? lease_kind : job_kind;
  if (kind.empty()) return;
  api::EventView& view =
      append(cat(is_lease ? "lease." : "job.", kind),
             cat(is_lease ? "lease " : "job ", job, " (", printable(row->name), ") ", text));
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

std::string EventWriter::why_held(std::uint64_t job) const {
  const core::JobSlot slot = node_.find_job(core::JobId(job));
  const store::JobRow* row = records_.job(job);
  if (slot == core::kNoJob || row == nullptr) return "";
  return daemon::why_held(node_.job(slot).holds, *row);
}

bool EventWriter::is_known(core::GpuId gpu) const { return gpu.value() < node_.gpu_count(); }

void EventWriter::add_gpu_event(core::GpuId gpu, std::string_view kind, std::string_view text) {
  api::EventView& view =
      append(cat("gpu.", kind), cat("GPU ", gpu.value(), " ", text,
                                    requested_by_.empty() ? "" : cat(", by ", requested_by_)));
  view.gpu = gpu.value();
  view.user = requested_by_;
}

void EventWriter::add_event(const core::Event& event, const std::string& requested_by,
                            const std::string& reason) {
  requested_by_ = requested_by;
  reason_ = reason;
  std::visit([&](const auto& each) { add(each); }, event);
}

void EventWriter::add(const core::JobSubmitted& e) {
  submitted_ = e.spec.id.value();
  add_job_event(*submitted_, "submitted", "waiting",
                cat("requests a ", e.spec.profile, e.spec.held ? ", held" : ""));
}

void EventWriter::add(const core::JobCancelled& e) { cancelled_ = e.job.value(); }

void EventWriter::add(const core::GpuAdded& e) {
  const core::GpuId id(static_cast<std::uint32_t>(node_.gpu_count()));
  add_gpu_event(id, "added", cat("(", e.model->name(), ") is in service"));
}

void EventWriter::add(const core::GpuHealth& e) {
  if (!is_known(e.gpu) || node_.gpu(e.gpu).health == e.health) return;
  add_gpu_event(e.gpu, "health",
                cat("is ", core::name_of(e.health), reason_.empty() ? "" : ": ", reason_));
}

void EventWriter::add(const core::GpuCordoned& e) {
  if (is_known(e.gpu) && !node_.gpu(e.gpu).cordoned)
    add_gpu_event(e.gpu, "cordoned", "was cordoned");
}

void EventWriter::add(const core::GpuUncordoned& e) {
  if (is_known(e.gpu) && node_.gpu(e.gpu).cordoned)
    add_gpu_event(e.gpu, "uncordoned", "was uncordoned");
}

void EventWriter::add(const core::GpuDrained& e) {
  if (is_known(e.gpu) && !node_.gpu(e.gpu).draining)
    add_gpu_event(e.gpu, "draining", "is being drained");
}

// Reports who requested the move; the move itself is reported when it begins.
void EventWriter::add(const core::MoveRequested& e) {
  if (records_.job(e.job.value()) == nullptr) return;
  add_job_event(
      e.job.value(), "asked", "",
      cat("is to be moved", e.anywhere ? "" : cat(" to ", e.gpu.value(), ":", int{e.start}),
          requested_by_.empty() ? "" : cat(", by ", requested_by_)));
  out_.back().view.kind = "move.asked";
}

void EventWriter::add(const core::TrafficSwitched& e) {
  const core::JobSlot slot = node_.find_job(e.job);
  if (slot == core::kNoJob || records_.job(e.job.value()) == nullptr) return;
  const core::Job& job = node_.job(slot);
  if (job.move != core::MovePhase::kSwitching || job.replica.run != e.run) return;
  add_job_event(e.job.value(), "switched", "",
                cat("is now served by its replica on GPU ", job.replica.gpu.value(), " at ",
                    int{job.replica_start}));
  out_.back().view.kind = "move.switched";
}

void EventWriter::add(const core::TuningChanged& e) {
  if (e.tuning == node_.tuning()) return;
  append("tuning.changed",
         cat("the tuning was changed", requested_by_.empty() ? "" : cat(" by ", requested_by_),
             ": ", changes_text(node_.tuning(), e.tuning)));
  out_.back().view.user = requested_by_;
}

void EventWriter::add_actions(std::span<const core::Action> actions) {
  for (const core::Action& action : actions) {
    std::visit([this](const auto& each) { this->add(each); }, action);
  }
}

void EventWriter::add(const core::JobReport& report) {
  const std::uint64_t id = report.job.value();
  const store::JobRow* row = records_.job(id);
  const bool is_lease = row != nullptr && row->kind == "lease";
  const auto report_as = [&](std::string_view job_kind, std::string_view lease_kind,
                             const std::string& text) {
    add_job_event(id, job_kind, lease_kind, text);
  };
  switch (report.news) {
    case core::JobNews::kQueued:
      if (submitted_ != id) report_as("queued", "", "is queued");
      break;
    case core::JobNews::kHeld:
      report_as("held", "", cat("is held: ", why_held(id)));
      break;
    case core::JobNews::kPlaced:
      report_as("placed", "", "was placed");
      break;
    case core::JobNews::kRunning:
      report_as("running", "granted", is_lease ? "is granted" : "is running");
      break;
    case core::JobNews::kRequeued:
      report_as("requeued", "", cat("was requeued", reason_suffix(row)));
      break;
    case core::JobNews::kFinished:
      report_as("completed", "over", cat("completed", reason_suffix(row)));
      break;
    case core::JobNews::kFailed:
    case core::JobNews::kCreateFailed:
      report_as("failed", "over", cat("failed", reason_suffix(row)));
      break;
    case core::JobNews::kCancelled:
      report_as("cancelled", "over",
                cat(is_lease ? "ended" : "was cancelled",
                    reason_.empty() || cancelled_ != id ? reason_suffix(row) : cat(": ", reason_)));
      break;
    case core::JobNews::kRefusedProfile:
    case core::JobNews::kRefusedDuplicate:
      report_as("refused", "over", "was rejected: no GPU of this node has its profile");
      break;
    case core::JobNews::kLost:
      report_as("lost", "", "lost its instance: the instance or its GPU is gone");
      break;
    case core::JobNews::kStopStuck:
      report_as("stopping", "releasing", "cannot be stopped; it keeps its slices");
      break;
    case core::JobNews::kSwitchStuck:
      break;
  }
}

void EventWriter::add(const core::StartJob& start) {
  if (!start.replica) add_job_event(start.job.value(), "starting", "", "is starting");
}

// Reported once, and only if the job ends with this run; a move also stops the original's run.
void EventWriter::add(const core::StopJob& stop) {
  const store::RunRow* run = records_.run(stop.run.value());
  const core::JobSlot slot = node_.find_job(stop.job);
  if (slot == core::kNoJob || run == nullptr || run->stop_asked) return;
  const core::Job& job = node_.job(slot);
  if (job.phase != core::JobPhase::kStopping || job.main.run != stop.run) return;
  add_job_event(stop.job.value(), "stopping", "releasing",
                cat(job.kind == core::JobKind::kLease ? "is being released" : "is being stopped",
                    reason_suffix(records_.job(stop.job.value()))));
}

// Read before the move is recorded as ended.
std::string EventWriter::why_rolled_back(const core::MoveReport& report) const {
  const store::MoveRow* move = records_.move(report.job.value());
  return move == nullptr || move->reason.empty() ? "" : cat(": ", move->reason);
}

void EventWriter::add(const core::MoveReport& report) {
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
  api::EventView& view = append(
      cat("move.", kind),
      cat("the ", core::name_of(report.kind), " move of job ", report.job.value(), " from GPU ",
          report.from.value(), " to GPU ", report.to.value(), " at ", report.start, " is ",
          report.news == core::MoveNews::kBegun ? "in progress" : core::name_of(report.news),
          report.news == core::MoveNews::kRolledBack ? why_rolled_back(report) : ""));
  view.job = report.job.value();
  view.gpu = report.to.value();
  view.start = report.start;
  if (row == nullptr) return;
  view.name = row->name;
  view.user = row->user;
  view.profile = row->profile;
}

void EventWriter::add(const core::GpuReport& report) {
  requested_by_.clear();  // the scheduler's own report
  const auto instance_event = [&](std::string_view kind, std::string_view text) {
    const mig::Profile& profile = node_.model(report.gpu).profile(report.placement.profile);
    add_gpu_event(report.gpu, kind,
                  cat("instance ", profile.name, " at ", report.placement.start, text));
    out_.back().view.profile = profile.name;
    out_.back().view.start = report.placement.start;
  };
  switch (report.news) {
    case core::GpuNews::kQuarantined:
      instance_event("quarantined", " quarantined");
      break;
    case core::GpuNews::kQuarantineEnded:
      instance_event("unquarantined", " released from quarantine");
      break;
    case core::GpuNews::kDrained:
      add_gpu_event(report.gpu, "drained", "is drained: no job is left on it");
      break;
    case core::GpuNews::kLayoutIncomplete:
      break;
  }
}

}  // namespace tangram::daemon
