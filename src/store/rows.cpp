// See rows.hpp: jobs, runs, GPUs, instances and moves.
#include "store/rows.hpp"

namespace tangram::store {
namespace {

// Lists do not include the requests, which are large.
#define JOB_COLUMNS                                                                      \
  "id, uid, user, name, profile, state, over, reason, gpu, start, mig_uuid, port, run, " \
  "exit_code, exit_signal, restarts, submitted, started, ended, kind, placed, address, " \
  "labels, waits_for, array_id, array_index, "
#define JOB_LIST_ITEM JOB_COLUMNS "'' FROM jobs "
#define JOB_WITH_REQUEST                                                                   \
  JOB_COLUMNS                                                                              \
  "coalesce(request, (SELECT arrays.request FROM arrays WHERE arrays.id = array_id), '') " \
  "FROM jobs LEFT JOIN requests ON requests.job = jobs.id "

constexpr const char* kWriteJobRow =
    "INSERT INTO jobs (id, uid, user, name, profile, state, over, reason, gpu, start, mig_uuid, "
    "port, run, exit_code, exit_signal, restarts, submitted, started, ended, kind, placed, "
    "address, labels, waits_for, array_id, array_index) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (id) DO UPDATE SET "
    "uid = excluded.uid, user = excluded.user, name = excluded.name, "
    "profile = excluded.profile, state = excluded.state, over = excluded.over, "
    "reason = excluded.reason, gpu = excluded.gpu, start = excluded.start, "
    "mig_uuid = excluded.mig_uuid, port = excluded.port, run = excluded.run, "
    "exit_code = excluded.exit_code, exit_signal = excluded.exit_signal, "
    "restarts = excluded.restarts, submitted = excluded.submitted, "
    "started = excluded.started, ended = excluded.ended, kind = excluded.kind, "
    "placed = excluded.placed, address = excluded.address, labels = excluded.labels, "
    "waits_for = excluded.waits_for, array_id = excluded.array_id, "
    "array_index = excluded.array_index";
constexpr const char* kWriteRunRow =
    "INSERT INTO runs (run, job, gpu, instance, start, profile, mig_uuid, port, direct, boot, "
    "over, "
    "stop_asked, exit_code, exit_signal, reason, asked, started, ended, asked_since_boot, held) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (run) DO UPDATE SET "
    "job = excluded.job, gpu = excluded.gpu, instance = excluded.instance, "
    "start = excluded.start, profile = excluded.profile, "
    "mig_uuid = excluded.mig_uuid, port = excluded.port, direct = excluded.direct, "
    "boot = excluded.boot, over = excluded.over, stop_asked = excluded.stop_asked, "
    "exit_code = excluded.exit_code, exit_signal = excluded.exit_signal, "
    "reason = excluded.reason, asked = excluded.asked, "
    "started = excluded.started, ended = excluded.ended, "
    "asked_since_boot = excluded.asked_since_boot, held = excluded.held";
constexpr const char* kWriteGpuRow =
    "INSERT INTO gpus (gpu, uuid, name) "
    "VALUES (?, ?, ?) "
    "ON CONFLICT (gpu) DO UPDATE SET "
    "uuid = excluded.uuid, name = excluded.name";
constexpr const char* kWriteInstanceRow =
    "INSERT INTO instances (instance, gpu, profile, start, mig_uuid, created) "
    "VALUES (?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (instance) DO UPDATE SET "
    "gpu = excluded.gpu, profile = excluded.profile, start = excluded.start, "
    "mig_uuid = excluded.mig_uuid, created = excluded.created";
constexpr const char* kWriteMoveRow =
    "INSERT INTO moves (job, begun, kind, from_gpu, from_start, to_gpu, to_start, ended, result, "
    "run, started, ready, switched, drained, finished, cut, reason) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (job, begun) DO UPDATE SET "
    "kind = excluded.kind, from_gpu = excluded.from_gpu, "
    "from_start = excluded.from_start, to_gpu = excluded.to_gpu, "
    "to_start = excluded.to_start, ended = excluded.ended, "
    "result = excluded.result, run = excluded.run, started = excluded.started, "
    "ready = excluded.ready, switched = excluded.switched, drained = excluded.drained, "
    "finished = excluded.finished, cut = excluded.cut, reason = excluded.reason";

}  // namespace

namespace sql {

const char* const kJob = "SELECT " JOB_WITH_REQUEST "WHERE id = ?";
#define FINISHED_FILTER                                                                           \
  "AND (?4 IS NULL OR profile = ?4) AND (?5 IS NULL OR state = ?5) "                              \
  "AND (?6 IS NULL OR ended >= ?6) AND (?7 IS NULL OR ended < ?7) AND (?8 IS NULL OR name = ?8) " \
  "AND CASE WHEN ?9 IS NULL THEN 1 WHEN labels = '' THEN 0 "                                      \
  "WHEN ?10 IS NULL THEN json_type(labels, ?9) IS NOT NULL "                                      \
  "ELSE json_extract(labels, ?9) = ?10 END "                                                      \
  "AND (?11 IS NULL OR uid = ?11) AND (?12 IS NULL OR array_id = ?12) "                           \
  "ORDER BY id DESC LIMIT ?2"
const char* const kFinishedJobs =
    "SELECT " JOB_LIST_ITEM "WHERE over = 1 AND id < ?1 AND ?3 IS NULL " FINISHED_FILTER;
const char* const kFinishedJobsOfUser =
    "SELECT " JOB_LIST_ITEM "WHERE over = 1 AND user = ?3 AND id < ?1 " FINISHED_FILTER;
const char* const kFinishedJobsOfName = "SELECT " JOB_LIST_ITEM
                                        "WHERE over = 1 AND name = ?8 AND id < ?1 "
                                        "AND (?3 IS NULL OR user = ?3) " FINISHED_FILTER;
const char* const kActiveJobs = "SELECT " JOB_LIST_ITEM "WHERE over = 0 ORDER BY id";
const char* const kRunsOfJob =
    "SELECT run, job, gpu, instance, start, profile, mig_uuid, port, direct, boot, over, "
    "stop_asked, exit_code, exit_signal, reason, asked, started, ended, asked_since_boot, held "
    "FROM runs WHERE run IN (SELECT run FROM runs WHERE job = ? ORDER BY over, run DESC LIMIT ?) "
    "ORDER BY run";
const char* const kGpus =
    "SELECT gpu, uuid, name "
    "FROM gpus ORDER BY gpu";
const char* const kInstances =
    "SELECT instance, gpu, profile, start, mig_uuid, created "
    "FROM instances ORDER BY instance";
const char* const kMovesOfJob =
    "SELECT job, begun, kind, from_gpu, from_start, to_gpu, to_start, ended, result, "
    "run, started, ready, switched, drained, finished, cut, reason "
    "FROM moves WHERE (job, begun) IN "
    "(SELECT job, begun FROM moves WHERE job = ?1 ORDER BY coalesce(run IN (SELECT run FROM runs "
    "WHERE runs.job = ?1 AND runs.over = 0), 0) DESC, begun DESC LIMIT ?2) ORDER BY begun";

}  // namespace sql

JobRow read_job(Query& query) {
  JobRow row;
  query.row(row.id, row.uid, row.user, row.name, row.profile, row.state, row.over, row.reason,
            row.gpu, row.start, row.mig_uuid, row.port, row.run, row.exit_code, row.exit_signal,
            row.restarts, row.submitted, row.started, row.ended, row.kind, row.placed, row.address,
            row.labels, row.waits_for, row.array, row.array_index, row.request);
  return row;
}

RunRow read_run(Query& query) {
  RunRow row;
  query.row(row.run, row.job, row.gpu, row.instance, row.start, row.profile, row.mig_uuid, row.port,
            row.direct, row.boot, row.over, row.stop_asked, row.exit_code, row.exit_signal,
            row.reason, row.asked, row.started, row.ended, row.asked_since_boot, row.held);
  return row;
}

GpuRow read_gpu(Query& query) {
  GpuRow row;
  query.row(row.gpu, row.uuid, row.name);
  return row;
}

InstanceRow read_instance(Query& query) {
  InstanceRow row;
  query.row(row.instance, row.gpu, row.profile, row.start, row.mig_uuid, row.created);
  return row;
}

MoveRow read_move(Query& query) {
  MoveRow row;
  query.row(row.job, row.begun, row.kind, row.from_gpu, row.from_start, row.to_gpu, row.to_start,
            row.ended, row.result, row.run, row.started, row.ready, row.switched, row.drained,
            row.finished, row.cut, row.reason);
  return row;
}

namespace {

// Large requests of finished jobs are shortened: they must not fill the disk as long as history is.
constexpr const char* kDropEnvironment =
    "UPDATE requests SET request = json_remove(request, '$.environment') "
    "WHERE job = ? AND length(CAST(request AS BLOB)) > ? AND json_valid(request)";
constexpr const char* kDropCommand =
    "UPDATE requests SET request = json_set(request, '$.command', json_array('(too large)')) "
    "WHERE job = ? AND length(CAST(request AS BLOB)) > ? AND json_valid(request)";

// Once its last task has ended.
#define ARRAY_HAS_ENDED                                                                        \
  "WHERE id = ? AND length(CAST(request AS BLOB)) > ? AND json_valid(request) AND NOT EXISTS " \
  "(SELECT 1 FROM jobs WHERE array_id = arrays.id AND array_id <> 0 AND over = 0)"
constexpr const char* kDropArrayEnvironment =
    "UPDATE arrays SET request = json_remove(request, '$.environment') " ARRAY_HAS_ENDED;
constexpr const char* kDropArrayCommand =
    "UPDATE arrays SET request = json_set(request, '$.command', json_array('(too "
    "large)')) " ARRAY_HAS_ENDED;

void shorten_request_of_array(Statements& statements, std::uint64_t array) {
  for (const char* sql : {kDropArrayEnvironment, kDropArrayCommand}) {
    Query(statements.get(sql)).bind(array, kMaxFinishedRequest).run();
  }
}

void shorten_request(Statements& statements, std::uint64_t job) {
  for (const char* sql : {kDropEnvironment, kDropCommand}) {
    Query(statements.get(sql)).bind(job, kMaxFinishedRequest).run();
  }
}

void write_request(Statements& statements, const JobRow& row) {
  if (row.request.empty()) return;  // keep the stored one
  Query(statements.get("INSERT INTO requests (job, request) VALUES (?, ?) "
                       "ON CONFLICT (job) DO UPDATE SET request = excluded.request"))
      .bind(row.id, row.request)
      .run();
}

}  // namespace

void write(Statements& statements, const JobRow& row) {
  Query(statements.get(kWriteJobRow))
      .bind(row.id, row.uid, row.user, row.name, row.profile, row.state, row.over, row.reason,
            row.gpu, row.start, row.mig_uuid, row.port, row.run, row.exit_code, row.exit_signal,
            row.restarts, row.submitted, row.started, row.ended, row.kind, row.placed, row.address,
            row.labels, row.waits_for, row.array, row.array_index)
      .run();
  write_request(statements, row);
  if (!row.over) return;
  shorten_request(statements, row.id);
  if (row.array != 0) shorten_request_of_array(statements, row.array);
}

void write(Statements& statements, const RunRow& row) {
  Query(statements.get(kWriteRunRow))
      .bind(row.run, row.job, row.gpu, row.instance, row.start, row.profile, row.mig_uuid, row.port,
            row.direct, row.boot, row.over, row.stop_asked, row.exit_code, row.exit_signal,
            row.reason, row.asked, row.started, row.ended, row.asked_since_boot, row.held)
      .run();
}

void write(Statements& statements, const GpuRow& row) {
  Query(statements.get(kWriteGpuRow)).bind(row.gpu, row.uuid, row.name).run();
}

void write(Statements& statements, const InstanceRow& row) {
  Query(statements.get(kWriteInstanceRow))
      .bind(row.instance, row.gpu, row.profile, row.start, row.mig_uuid, row.created)
      .run();
}

void write(Statements& statements, const MoveRow& row) {
  Query(statements.get(kWriteMoveRow))
      .bind(row.job, row.begun, row.kind, row.from_gpu, row.from_start, row.to_gpu, row.to_start,
            row.ended, row.result, row.run, row.started, row.ready, row.switched, row.drained,
            row.finished, row.cut, row.reason)
      .run();
}

}  // namespace tangram::store
