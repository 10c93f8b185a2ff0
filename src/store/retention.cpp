// Store::apply_retention(): deletes old data in small batches, so that no commit waits long. The
// journal is cut only at a snapshot, and older snapshots are deleted first, so that all steps after
// the oldest remaining snapshot exist.
#include <algorithm>
#include <chrono>

#include "store/store_impl.hpp"
#include "store/usage.hpp"

namespace tangram::store {
namespace {

constexpr std::int64_t kJobsPerBatch = 200;
constexpr std::int64_t kRunsPerBatch = 500;
constexpr std::int64_t kStepsPerBatch = 5000;

std::int64_t number(Query& query) { return query.next() ? query.column<std::int64_t>(0) : 0; }

#define AWAITED                                                                            \
  "(SELECT CAST(key AS INTEGER) FROM jobs AS waiting, json_each(waiting.waits_for) WHERE " \
  "waiting.over = 0 AND waiting.waits_for <> '') "

// Finished jobs that are too old or too many and for which no job waits, and tasks only of arrays
// that have ended; oldest end first.
std::vector<std::uint64_t> jobs_to_delete(Store::Impl& impl, const Retention& retention,
                                          std::optional<WallTime> now) {
  Query count = impl.query("SELECT count(*) FROM jobs WHERE over = 1");
  const std::int64_t surplus = number(count) - static_cast<std::int64_t>(retention.most_jobs);
  std::vector<std::uint64_t> ids;
  Query query = impl.query(
      "SELECT id, coalesce(ended, 0) FROM jobs WHERE over = 1 AND id NOT IN " AWAITED
      "AND (array_id = 0 OR array_id NOT IN " AWAITED
      "AND array_id NOT IN "
      "(SELECT array_id FROM jobs WHERE over = 0 AND array_id <> 0)) ORDER BY ended LIMIT ?");
  query.bind(kJobsPerBatch);
  while (query.next()) {
    const bool too_many = static_cast<std::int64_t>(ids.size()) < surplus;
    const bool too_old = now && query.column<WallTime>(1) < *now - retention.jobs;
    if (!too_many && !too_old) break;
    ids.push_back(query.column<std::uint64_t>(0));
  }
  return ids;
}

void delete_job(Store::Impl& impl, std::uint64_t id, RetentionResult& deleted) {
  add_job_usage(impl, id);
  {
    Query runs = impl.query("SELECT run FROM runs WHERE job = ?");
    runs.bind(id);
    while (runs.next()) deleted.runs.push_back(runs.column<std::uint32_t>(0));
  }
  impl.query("UPDATE forgotten SET jobs = jobs + 1, last_job = max(last_job, ?)").bind(id).run();
  impl.query("DELETE FROM jobs WHERE id = ?").bind(id).run();  // cascades to rows that refer to it
  deleted.jobs.push_back(id);
}

void delete_empty_arrays(Store::Impl& impl) {
  impl.query(
          "DELETE FROM arrays WHERE NOT EXISTS "
          "(SELECT 1 FROM jobs WHERE array_id = arrays.id AND array_id <> 0)")
      .run();
}

std::vector<std::uint64_t> numbers_in(Query& query) {
  std::vector<std::uint64_t> numbers;
  while (query.next()) numbers.push_back(query.column<std::uint64_t>(0));
  return numbers;
}

// A service may run for months and move every minute. The folders of its old runs are released
// here; their rows are deleted later, after their usage was added up.
bool delete_old_runs(Store::Impl& impl, const Retention& retention, std::optional<WallTime> now,
                     RetentionResult& deleted) {
  Query candidates = impl.query(
      "SELECT job FROM runs WHERE kept = 1 AND over = 1 GROUP BY job HAVING count(*) > ? LIMIT ?");
  candidates.bind(kMaxRunsKept, kJobsPerBatch);
  bool more = false;
  for (const std::uint64_t job : numbers_in(candidates)) {
    Query old = impl.query(
        "SELECT run FROM runs WHERE kept = 1 AND over = 1 AND job = ? ORDER BY run DESC "
        "LIMIT ? OFFSET ?");
    old.bind(job, kJobsPerBatch, kMaxRunsKept);
    const std::vector<std::uint64_t> runs = numbers_in(old);
    for (const std::uint64_t run : runs) {
      impl.query("UPDATE runs SET kept = 0 WHERE run = ?").bind(run).run();
      deleted.runs.push_back(static_cast<std::uint32_t>(run));
    }
    more = more || static_cast<std::int64_t>(runs.size()) == kJobsPerBatch;
  }
  if (!now) return more;
  Query query = impl.query("SELECT run FROM runs WHERE kept = 0 AND ended < ? LIMIT ?");
  query.bind(*now - retention.jobs, kRunsPerBatch);
  const std::vector<std::uint64_t> runs = numbers_in(query);
  for (const std::uint64_t run : runs) {
    add_run_usage(impl, run);
    impl.query("DELETE FROM runs WHERE run = ?").bind(run).run();
  }
  return more || static_cast<std::int64_t>(runs.size()) == kRunsPerBatch;
}

// Deletes all but the newest moves of each job, except the move that led to an active run.
void delete_old_moves(Store::Impl& impl) {
  Query candidates =
      impl.query("SELECT job FROM moves GROUP BY job HAVING count(*) > ? + 1 LIMIT ?");
  candidates.bind(kMaxRunsKept, kJobsPerBatch);
  for (const std::uint64_t job : numbers_in(candidates)) {
    impl.query(
            "DELETE FROM moves WHERE job = ?1 AND ended IS NOT NULL AND begun < (SELECT begun "
            "FROM moves WHERE job = ?1 ORDER BY begun DESC LIMIT 1 OFFSET ?2 - 1) AND NOT "
            "coalesce(run IN (SELECT run FROM runs WHERE job = ?1 AND over = 0), 0)")
        .bind(job, kMaxRunsKept)
        .run();
  }
}

// The snapshot up to which the journal can be cut: the oldest one that leaves at most `most_steps`.
std::uint64_t journal_cut(Store::Impl& impl, std::uint64_t most_steps) {
  const std::uint64_t from = impl.sequence > most_steps ? impl.sequence - most_steps : 0;
  Query query = impl.query("SELECT coalesce(min(sequence), 0) FROM snapshots WHERE sequence >= ?");
  query.bind(from);
  return static_cast<std::uint64_t>(number(query));
}

// True: there is more to delete.
bool delete_old_steps(Store::Impl& impl, std::uint64_t at) {
  impl.query("DELETE FROM snapshots WHERE sequence < ?").bind(at).run();
  impl.query(
          "DELETE FROM journal WHERE sequence IN "
          "(SELECT sequence FROM journal WHERE sequence <= ? ORDER BY sequence LIMIT ?)")
      .bind(at, kStepsPerBatch)
      .run();
  Query left =
      impl.query("SELECT count(*) FROM (SELECT 1 FROM journal WHERE sequence <= ? LIMIT 1)");
  left.bind(at);
  return number(left) > 0;
}

// True: there is more to delete. The newest event stays, because it holds the last number used.
bool delete_old_events(Store::Impl& impl, std::uint64_t most) {
  most = std::max<std::uint64_t>(most, 1);
  if (impl.last_event <= most) return false;
  Query query = impl.query(
      "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE id <= ? ORDER BY id LIMIT ?)");
  query.bind(impl.last_event - most, kStepsPerBatch).run();
  return query.changes() == kStepsPerBatch;
}

bool delete_old_submissions(Store::Impl& impl, WallTime now) {
  Query query = impl.query(
      "DELETE FROM submissions WHERE (uid, key) IN "
      "(SELECT uid, key FROM submissions WHERE wall <= ? LIMIT ?)");
  query.bind(now - kSubmissionsKept, kStepsPerBatch).run();
  return query.changes() == kStepsPerBatch;
}

// Revoked tokens have the time of revocation as their expiry.
bool delete_expired_tokens(Store::Impl& impl, WallTime now) {
  Query query = impl.query(
      "DELETE FROM tokens WHERE id IN (SELECT id FROM tokens WHERE expires < ? LIMIT ?)");
  query.bind(now - kExpiredTokensKept, kStepsPerBatch).run();
  return query.changes() == kStepsPerBatch;
}

}  // namespace

Result<RetentionResult> Store::apply_retention(const Retention& retention,
                                               std::optional<WallTime> now) {
  Impl& impl = *impl_;
  bool snapshot_taken = false;
  const auto trimmed = impl.in_transaction("clean up", [&]() -> Result<RetentionResult> {
    RetentionResult deleted;
    const std::vector<std::uint64_t> ids = jobs_to_delete(impl, retention, now);
    for (const std::uint64_t id : ids) delete_job(impl, id, deleted);
    if (!ids.empty()) delete_empty_arrays(impl);
    const bool more_runs = delete_old_runs(impl, retention, now, deleted);
    delete_old_moves(impl);
    if (now) delete_old_usage(impl, *now);
    const bool too_long = impl.sequence > impl.snapshot + retention.most_steps;
    if (too_long) impl.write_snapshot(impl.sequence);
    snapshot_taken = too_long;
    const bool more_steps = delete_old_steps(impl, journal_cut(impl, retention.most_steps));
    const bool more_events = delete_old_events(impl, retention.most_steps);
    const bool more_submissions = now && delete_old_submissions(impl, *now);
    const bool more_tokens = now && delete_expired_tokens(impl, *now);
    deleted.more = more_runs || more_steps || more_events || more_submissions || more_tokens ||
                   static_cast<std::int64_t>(ids.size()) == kJobsPerBatch;
    return deleted;
  });
  if (trimmed && snapshot_taken) impl.snapshot = impl.sequence;
  return trimmed;
}

}  // namespace tangram::store
