// Store::commit(): writes one batch in one transaction. State outside of SQLite (step and event
// numbers) changes only after the transaction has succeeded.
#include <algorithm>

#include "base/check.hpp"
#include "base/text.hpp"
#include "store/event_json.hpp"
#include "store/rows.hpp"
#include "store/saved_json.hpp"
#include "store/store_impl.hpp"

namespace tangram::store {
namespace {

void write_steps(Statements& statements, std::span<const Step> steps, std::uint64_t sequence) {
  SQLite::Statement& insert = statements.get(
      "INSERT INTO journal (sequence, at, wall, event, decisions) VALUES (?, ?, ?, ?, ?)");
  for (const Step& step : steps) {
    const std::string event = event_json(step.event);
    Query(insert)
        .bind(++sequence, step.at.time_since_epoch().count(), step.wall, event, step.decisions)
        .run();
  }
}

Result<void> write_gpus(Statements& statements, Models& models,
                        std::span<const core::SavedGpu> gpus) {
  for (const core::SavedGpu& gpu : gpus) {
    const auto model = models.row_of(statements, gpu.model);
    if (!model) return std::unexpected(model.error());
    const std::string state = saved_json(gpu);
    Query(statements.get("INSERT OR REPLACE INTO saved_gpus (gpu, model, state) VALUES (?, ?, ?)"))
        .bind(gpu.id.value(), *model, state)
        .run();
  }
  return {};
}

Result<void> write_scheduler(Statements& statements, Models& models,
                             const core::SavedChanges& changes) {
  if (const auto done = write_gpus(statements, models, changes.gpus); !done) return done;
  for (const core::JobId id : changes.jobs_gone) {
    Query(statements.get("DELETE FROM saved_jobs WHERE job = ?")).bind(id.value()).run();
  }
  for (const core::SavedJob& job : changes.jobs) {
    const std::string state = saved_json(job);
    Query(statements.get("INSERT OR REPLACE INTO saved_jobs (job, state) VALUES (?, ?)"))
        .bind(job.job.id.value(), state)
        .run();
  }
  const std::string rest = saved_json(changes.rest);
  Query(statements.get("INSERT OR REPLACE INTO saved_rest (one, state) VALUES (1, ?)"))
      .bind(rest)
      .run();
  return {};
}

void write_rows(Statements& statements, const Changes& changes) {
  for (const ArrayRow& row : changes.arrays) write(statements, row);
  for (const JobRow& row : changes.jobs) write(statements, row);
  for (const RunRow& row : changes.runs) write(statements, row);
  for (const GpuRow& row : changes.gpus) write(statements, row);
  for (const InstanceRow& row : changes.instances) write(statements, row);
  for (const std::uint32_t id : changes.instances_gone) {
    Query(statements.get("DELETE FROM instances WHERE instance = ?")).bind(id).run();
  }
  for (const MoveRow& row : changes.moves) write(statements, row);
  for (const EventRow& row : changes.events) write(statements, row);
  for (const LeaseRow& row : changes.leases) write(statements, row);
  for (const SubmissionRow& row : changes.submissions) write(statements, row);
  for (const TokenRow& row : changes.tokens) write(statements, row);
  for (const auto& [name, value] : changes.facts) {
    Query(statements.get("INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)"))
        .bind(name, value)
        .run();
  }
}

// The state from which replay starts: a scheduler without GPUs and jobs. Its tuning must be stored,
// because later changes of it are events relative to that.
core::SavedRest before_first_step(const Changes& changes) {
  core::SavedRest rest;
  rest.partitioning = changes.scheduler.rest.partitioning;
  rest.tuning = changes.first_tuning.value_or(changes.scheduler.rest.tuning);
  return rest;
}

void write_beginning(Statements& statements, const Changes& changes) {
  const std::string rest = saved_json(before_first_step(changes));
  Query(statements.get("INSERT OR IGNORE INTO snapshots (sequence, rest) VALUES (0, ?)"))
      .bind(rest)
      .run();
}

}  // namespace

void Store::Impl::write_snapshot(std::uint64_t at) {
  query("INSERT INTO snapshots (sequence, rest) SELECT ?, state FROM saved_rest").bind(at).run();
  query("INSERT INTO snapshot_gpus SELECT ?, gpu, model, state FROM saved_gpus").bind(at).run();
  query("INSERT INTO snapshot_jobs SELECT ?, job, state FROM saved_jobs").bind(at).run();
}

Result<void> Store::commit(const Changes& changes) {
  Impl& impl = *impl_;
  const std::uint64_t last = impl.sequence + changes.steps.size();
  const bool snapshot_due = last >= impl.snapshot + kStepsPerSnapshot;
  std::uint64_t last_event = impl.last_event;
  for (const EventRow& event : changes.events) CHECK(event.id == ++last_event);
  const auto done = impl.in_transaction("write to", [&]() -> Result<void> {
    if (impl.sequence == 0) write_beginning(impl.statements, changes);
    write_steps(impl.statements, changes.steps, impl.sequence);
    const auto saved = write_scheduler(impl.statements, impl.models, changes.scheduler);
    if (!saved) return saved;
    write_rows(impl.statements, changes);
    if (snapshot_due) impl.write_snapshot(last);
    return {};
  });
  if (!done) return done;
  impl.sequence = last;
  impl.last_event = last_event;
  if (snapshot_due) impl.snapshot = last;
  return {};
}

}  // namespace tangram::store
