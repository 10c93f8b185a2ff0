// Store::trim(): what is older than retention says goes, in small bites, so that no batch waits for
// long. One rule: the journal is cut only behind a snapshot, and older snapshots go first: from the
// oldest one that is left, all steps are there.
#include <algorithm>
#include <chrono>

#include "store/parts.hpp"
#include "store/usage.hpp"

namespace tangram::store {
namespace {

constexpr std::int64_t kJobsPerBite = 200;
constexpr std::int64_t kRunsPerBite = 500;
constexpr std::int64_t kStepsPerBite = 5000;

std::int64_t number(Query& query) { return query.next() ? query.column<std::int64_t>(0) : 0; }

// Jobs that are over and too old, or too many; the longest over first.
std::vector<std::uint64_t> jobs_to_forget(Store::Parts& parts, const Retention& retention,
                                          std::optional<WallTime> now) {
  Query count = parts.query("SELECT count(*) FROM jobs WHERE over = 1");
  const std::int64_t surplus = number(count) - static_cast<std::int64_t>(retention.most_jobs);
  std::vector<std::uint64_t> ids;
  Query query =
      parts.query("SELECT id, coalesce(ended, 0) FROM jobs WHERE over = 1 ORDER BY ended LIMIT ?");
  query.bind(kJobsPerBite);
  while (query.next()) {
    const bool too_many = static_cast<std::int64_t>(ids.size()) < surplus;
    const bool too_old = now && query.column<WallTime>(1) < *now - retention.jobs;
    if (!too_many && !too_old) break;
    ids.push_back(query.column<std::uint64_t>(0));
  }
  return ids;
}

void forget_job(Store::Parts& parts, std::uint64_t id, Trimmed& gone) {
  add_up(parts, id);
  {
    Query runs = parts.query("SELECT run FROM runs WHERE job = ?");
    runs.bind(id);
    while (runs.next()) gone.runs.push_back(runs.column<std::uint32_t>(0));
  }
  parts.query("UPDATE forgotten SET jobs = jobs + 1, last_job = max(last_job, ?)").bind(id).run();
  parts.query("DELETE FROM jobs WHERE id = ?").bind(id).run();  // with all that refers to it
  gone.jobs.push_back(id);
}

std::vector<std::uint64_t> numbers_in(Query& query) {
  std::vector<std::uint64_t> numbers;
  while (query.next()) numbers.push_back(query.column<std::uint64_t>(0));
  return numbers;
}

// A service lives for months and may move every minute: of its many runs, the old ones lose their
// folders here, and later their rows, when what they held has been added up.
bool forget_places(Store::Parts& parts, const Retention& retention, std::optional<WallTime> now,
                   Trimmed& gone) {
  Query crowded = parts.query(
      "SELECT job FROM runs WHERE kept = 1 AND over = 1 GROUP BY job HAVING count(*) > ? LIMIT ?");
  crowded.bind(kMostPlacesKept, kJobsPerBite);
  bool more = false;
  for (const std::uint64_t job : numbers_in(crowded)) {
    Query old = parts.query(
        "SELECT run FROM runs WHERE kept = 1 AND over = 1 AND job = ? ORDER BY run DESC "
        "LIMIT ? OFFSET ?");
    old.bind(job, kJobsPerBite, kMostPlacesKept);
    const std::vector<std::uint64_t> runs = numbers_in(old);
    for (const std::uint64_t run : runs) {
      parts.query("UPDATE runs SET kept = 0 WHERE run = ?").bind(run).run();
      gone.runs.push_back(static_cast<std::uint32_t>(run));
    }
    more = more || static_cast<std::int64_t>(runs.size()) == kJobsPerBite;
  }
  if (!now) return more;
  Query query = parts.query("SELECT run FROM runs WHERE kept = 0 AND ended < ? LIMIT ?");
  query.bind(*now - retention.jobs, kRunsPerBite);
  const std::vector<std::uint64_t> runs = numbers_in(query);
  for (const std::uint64_t run : runs) {
    add_up_run(parts, run);
    parts.query("DELETE FROM runs WHERE run = ?").bind(run).run();
  }
  return more || static_cast<std::int64_t>(runs.size()) == kRunsPerBite;
}

// Moves beyond the newest, but for the one that led to where the job is.
void forget_moves(Store::Parts& parts) {
  Query crowded = parts.query("SELECT job FROM moves GROUP BY job HAVING count(*) > ? + 1 LIMIT ?");
  crowded.bind(kMostPlacesKept, kJobsPerBite);
  for (const std::uint64_t job : numbers_in(crowded)) {
    parts
        .query(
            "DELETE FROM moves WHERE job = ?1 AND ended IS NOT NULL AND begun < (SELECT begun "
            "FROM moves WHERE job = ?1 ORDER BY begun DESC LIMIT 1 OFFSET ?2 - 1) AND NOT "
            "coalesce(run IN (SELECT run FROM runs WHERE job = ?1 AND over = 0), 0)")
        .bind(job, kMostPlacesKept)
        .run();
  }
}

// The snapshot behind which the journal may be cut: the oldest that leaves few enough steps.
std::uint64_t cut_at(Store::Parts& parts, std::uint64_t most_steps) {
  const std::uint64_t from = parts.sequence > most_steps ? parts.sequence - most_steps : 0;
  Query query = parts.query("SELECT coalesce(min(sequence), 0) FROM snapshots WHERE sequence >= ?");
  query.bind(from);
  return static_cast<std::uint64_t>(number(query));
}

// Whether more is to be cut.
bool cut_journal(Store::Parts& parts, std::uint64_t at) {
  parts.query("DELETE FROM snapshots WHERE sequence < ?").bind(at).run();
  parts
      .query(
          "DELETE FROM journal WHERE sequence IN "
          "(SELECT sequence FROM journal WHERE sequence <= ? ORDER BY sequence LIMIT ?)")
      .bind(at, kStepsPerBite)
      .run();
  Query left =
      parts.query("SELECT count(*) FROM (SELECT 1 FROM journal WHERE sequence <= ? LIMIT 1)");
  left.bind(at);
  return number(left) > 0;
}

// Whether more is to be cut. The newest event stays: it says which numbers were given.
bool cut_events(Store::Parts& parts, std::uint64_t most) {
  most = std::max<std::uint64_t>(most, 1);
  if (parts.last_event <= most) return false;
  Query query = parts.query(
      "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE id <= ? ORDER BY id LIMIT ?)");
  query.bind(parts.last_event - most, kStepsPerBite).run();
  return query.changes() == kStepsPerBite;
}

bool cut_submissions(Store::Parts& parts, WallTime now) {
  Query query = parts.query(
      "DELETE FROM submissions WHERE (uid, key) IN "
      "(SELECT uid, key FROM submissions WHERE wall <= ? LIMIT ?)");
  query.bind(now - kSubmissionsKept, kStepsPerBite).run();
  return query.changes() == kStepsPerBite;
}

// Those that let nobody in any more; one that is revoked expires at that moment.
bool cut_tokens(Store::Parts& parts, WallTime now) {
  Query query = parts.query(
      "DELETE FROM tokens WHERE id IN (SELECT id FROM tokens WHERE expires < ? LIMIT ?)");
  query.bind(now - kDeadTokensKept, kStepsPerBite).run();
  return query.changes() == kStepsPerBite;
}

}  // namespace

Result<Trimmed> Store::trim(const Retention& retention, std::optional<WallTime> now) {
  Parts& parts = *parts_;
  bool snapshot_taken = false;
  const auto trimmed = parts.in_transaction("trim", [&]() -> Result<Trimmed> {
    Trimmed gone;
    const std::vector<std::uint64_t> ids = jobs_to_forget(parts, retention, now);
    for (const std::uint64_t id : ids) forget_job(parts, id, gone);
    const bool more_runs = forget_places(parts, retention, now, gone);
    forget_moves(parts);
    if (now) cut_usage(parts, *now);
    const bool too_long = parts.sequence > parts.snapshot + retention.most_steps;
    if (too_long) parts.take_snapshot(parts.sequence);
    snapshot_taken = too_long;
    const bool more_steps = cut_journal(parts, cut_at(parts, retention.most_steps));
    const bool more_events = cut_events(parts, retention.most_steps);
    const bool more_submissions = now && cut_submissions(parts, *now);
    const bool more_tokens = now && cut_tokens(parts, *now);
    gone.more = more_runs || more_steps || more_events || more_submissions || more_tokens ||
                static_cast<std::int64_t>(ids.size()) == kJobsPerBite;
    return gone;
  });
  if (trimmed && snapshot_taken) parts.snapshot = parts.sequence;
  return trimmed;
}

}  // namespace tangram::store
