// See rows.hpp: events, leases, submissions and tokens.
#include "store/rows.hpp"

namespace tangram::store {

namespace sql {

const char* const kLease =
    "SELECT job, taker, key, ttl, linger, wait_until, deadline, granted FROM leases "
    "WHERE job = ?";
const char* const kOpenLeases =
    "SELECT job, taker, key, ttl, linger, wait_until, deadline, granted "
    "FROM leases JOIN jobs ON jobs.id = leases.job WHERE over = 0 ORDER BY job";
const char* const kEventsAfter =
    "SELECT id, step, wall, kind, job, event FROM events WHERE id > ? ORDER BY id LIMIT ?";
const char* const kSubmission =
    "SELECT uid, key, fingerprint, job, wall FROM submissions "
    "WHERE uid = ? AND key = ? AND wall > ?";
const char* const kTokens =
    "SELECT id, hash, name, uid, user, scope, created, expires, revoked, parent FROM tokens "
    "ORDER BY id";

}  // namespace sql

EventRow read_event_row(Query& query) {
  EventRow row;
  query.row(row.id, row.step, row.wall, row.kind, row.job, row.event);
  return row;
}

LeaseRow read_lease(Query& query) {
  LeaseRow row;
  query.row(row.job, row.taker, row.key, row.ttl, row.linger, row.wait_until, row.deadline,
            row.granted);
  return row;
}

SubmissionRow read_submission(Query& query) {
  SubmissionRow row;
  query.row(row.uid, row.key, row.fingerprint, row.job, row.wall);
  return row;
}

TokenRow read_token(Query& query) {
  TokenRow row;
  query.row(row.id, row.hash, row.name, row.uid, row.user, row.scope, row.created, row.expires,
            row.revoked, row.parent);
  return row;
}

void write(Statements& statements, const EventRow& row) {
  Query(statements.get("INSERT INTO events (id, step, wall, kind, job, event) "
                       "VALUES (?, ?, ?, ?, ?, ?)"))
      .bind(row.id, row.step, row.wall, row.kind, row.job, row.event)
      .run();
}

void write(Statements& statements, const LeaseRow& row) {
  Query(statements.get(
            "INSERT INTO leases (job, taker, key, ttl, linger, wait_until, deadline, "
            "granted) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (job) DO UPDATE SET "
            "taker = excluded.taker, key = excluded.key, "
            "ttl = excluded.ttl, linger = excluded.linger, wait_until = excluded.wait_until, "
            "deadline = excluded.deadline, granted = excluded.granted"))
      .bind(row.job, row.taker, row.key, row.ttl, row.linger, row.wait_until, row.deadline,
            row.granted)
      .run();
}

void write(Statements& statements, const SubmissionRow& row) {
  Query(statements.get("INSERT OR REPLACE INTO submissions (uid, key, fingerprint, job, wall) "
                       "VALUES (?, ?, ?, ?, ?)"))
      .bind(row.uid, row.key, row.fingerprint, row.job, row.wall)
      .run();
}

void write(Statements& statements, const TokenRow& row) {
  Query(statements.get(
            "INSERT INTO tokens (id, hash, name, uid, user, scope, created, expires, revoked, "
            "parent) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
            "hash = excluded.hash, name = excluded.name, uid = excluded.uid, "
            "user = excluded.user, scope = excluded.scope, created = excluded.created, "
            "expires = excluded.expires, revoked = excluded.revoked, parent = excluded.parent"))
      .bind(row.id, row.hash, row.name, row.uid, row.user, row.scope, row.created, row.expires,
            row.revoked, row.parent)
      .run();
}

}  // namespace tangram::store
