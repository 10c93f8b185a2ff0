// Schema version 1. Data shown to users (jobs, runs, gpus, instances, moves) has columns; data that
// only the scheduler reads back is JSON (saved_json.hpp). Times are microseconds: wall-clock times
// since 1970, scheduler times since its origin.
#include "store/schema.hpp"

namespace tangram::store {

const char* const kSchemaVersion1 = R"sql(
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE jobs (
  id INTEGER PRIMARY KEY, uid INTEGER NOT NULL, user TEXT NOT NULL, name TEXT NOT NULL,
  profile TEXT NOT NULL, state TEXT NOT NULL, over INTEGER NOT NULL, reason TEXT NOT NULL,
  gpu INTEGER, start INTEGER, mig_uuid TEXT NOT NULL, port INTEGER, run INTEGER,
  exit_code INTEGER, exit_signal INTEGER, restarts INTEGER NOT NULL,
  submitted INTEGER NOT NULL, started INTEGER, ended INTEGER);
CREATE INDEX jobs_living ON jobs (id) WHERE over = 0;
CREATE INDEX jobs_over ON jobs (id) WHERE over = 1;
CREATE INDEX jobs_ended ON jobs (ended) WHERE over = 1;
-- Apart: large, and written once.
CREATE TABLE requests (
  job INTEGER PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE, request TEXT NOT NULL);
CREATE TABLE runs (
  run INTEGER PRIMARY KEY, job INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  gpu INTEGER NOT NULL, instance INTEGER NOT NULL, start INTEGER NOT NULL, profile TEXT NOT NULL,
  mig_uuid TEXT NOT NULL, port INTEGER, boot TEXT NOT NULL, over INTEGER NOT NULL,
  stop_asked INTEGER NOT NULL, exit_code INTEGER, exit_signal INTEGER, reason TEXT NOT NULL,
  asked INTEGER NOT NULL, started INTEGER, ended INTEGER);
CREATE INDEX runs_of_job ON runs (job);
CREATE TABLE gpus (gpu INTEGER PRIMARY KEY, uuid TEXT NOT NULL, name TEXT NOT NULL);
CREATE TABLE instances (
  instance INTEGER PRIMARY KEY, gpu INTEGER NOT NULL, profile TEXT NOT NULL,
  start INTEGER NOT NULL, mig_uuid TEXT NOT NULL, created INTEGER NOT NULL);
CREATE TABLE moves (
  job INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, begun INTEGER NOT NULL,
  kind TEXT NOT NULL, from_gpu INTEGER NOT NULL, from_start INTEGER NOT NULL,
  to_gpu INTEGER NOT NULL, to_start INTEGER NOT NULL, ended INTEGER, result TEXT NOT NULL,
  PRIMARY KEY (job, begun)) WITHOUT ROWID;
CREATE TABLE journal (
  sequence INTEGER PRIMARY KEY, at INTEGER NOT NULL, wall INTEGER NOT NULL,
  event TEXT NOT NULL, decisions TEXT NOT NULL);
-- The scheduler.
CREATE TABLE models (id INTEGER PRIMARY KEY, toml TEXT NOT NULL UNIQUE);
CREATE TABLE saved_rest (one INTEGER PRIMARY KEY CHECK (one = 1), state TEXT NOT NULL);
CREATE TABLE saved_gpus (
  gpu INTEGER PRIMARY KEY, model INTEGER NOT NULL REFERENCES models (id), state TEXT NOT NULL);
CREATE TABLE saved_jobs (job INTEGER PRIMARY KEY, state TEXT NOT NULL);
-- The same, as it was after an earlier step: where replay begins.
CREATE TABLE snapshots (sequence INTEGER PRIMARY KEY, rest TEXT NOT NULL);
CREATE TABLE snapshot_gpus (
  sequence INTEGER NOT NULL REFERENCES snapshots (sequence) ON DELETE CASCADE,
  gpu INTEGER NOT NULL, model INTEGER NOT NULL REFERENCES models (id), state TEXT NOT NULL,
  PRIMARY KEY (sequence, gpu)) WITHOUT ROWID;
CREATE TABLE snapshot_jobs (
  sequence INTEGER NOT NULL REFERENCES snapshots (sequence) ON DELETE CASCADE,
  job INTEGER NOT NULL, state TEXT NOT NULL, PRIMARY KEY (sequence, job)) WITHOUT ROWID;
-- What was removed is still counted.
CREATE TABLE forgotten (
  one INTEGER PRIMARY KEY CHECK (one = 1), jobs INTEGER NOT NULL, last_job INTEGER NOT NULL);
INSERT INTO forgotten VALUES (1, 0, 0);
)sql";

}  // namespace tangram::store
