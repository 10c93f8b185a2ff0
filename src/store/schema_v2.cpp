// Schema version 2: leases, events, idempotent submissions, tokens, and indexes for history
// queries. A new store is created as version 1 and migrated at once, so that new and migrated
// stores are the same.
#include "store/schema.hpp"

namespace tangram::store {

const char* const kToVersion2 = R"sql(
ALTER TABLE jobs ADD COLUMN kind TEXT NOT NULL DEFAULT 'batch';
ALTER TABLE jobs ADD COLUMN placed INTEGER;
UPDATE jobs SET kind = 'service' WHERE id IN (SELECT job FROM requests
  WHERE CASE WHEN json_valid(request) THEN json_extract(request, '$.kind') = 'service' END);
CREATE INDEX jobs_over_of_user ON jobs (user, id) WHERE over = 1;
CREATE INDEX runs_ended ON runs (ended);
CREATE TABLE events (
  id INTEGER PRIMARY KEY, step INTEGER NOT NULL, wall INTEGER NOT NULL, kind TEXT NOT NULL,
  job INTEGER, event TEXT NOT NULL);
-- Times of the machine's clock since its boot: a lease does not outlive that.
CREATE TABLE leases (
  job INTEGER PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE, key TEXT NOT NULL,
  ttl INTEGER NOT NULL, wait_until INTEGER NOT NULL, deadline INTEGER, granted INTEGER);
CREATE TABLE submissions (
  uid INTEGER NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, job INTEGER NOT NULL,
  wall INTEGER NOT NULL, PRIMARY KEY (uid, key)) WITHOUT ROWID;
CREATE INDEX submissions_by_age ON submissions (wall);
-- A number is given once, also after its token was forgotten.
CREATE TABLE tokens (
  id INTEGER PRIMARY KEY AUTOINCREMENT, hash TEXT NOT NULL, name TEXT NOT NULL,
  uid INTEGER NOT NULL, user TEXT NOT NULL, scope TEXT NOT NULL, created INTEGER NOT NULL,
  expires INTEGER NOT NULL, revoked INTEGER NOT NULL);
)sql";

}  // namespace tangram::store
