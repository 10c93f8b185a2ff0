// Reading and writing the rows of store.hpp. Private to the store. rows.cpp has jobs, runs, GPUs,
// instances and moves; arrays.cpp has arrays, rows_events_leases.cpp the rest. The
// columns of a table must have the same order in its SELECT, INSERT, read and write.
#pragma once

#include "store/query.hpp"
#include "store/store.hpp"

namespace tangram::store {

namespace sql {
extern const char* const kJob;
extern const char* const kFinishedJobs;        // parameters: before ID, limit, then the filter
extern const char* const kFinishedJobsOfUser;  // the same parameters
extern const char* const kFinishedJobsOfName;  // the same parameters
extern const char* const kActiveJobs;
extern const char* const kRunsOfJob;  // parameters: job, limit; active ones first, then the newest
extern const char* const kGpus;
extern const char* const kInstances;
extern const char* const kMovesOfJob;  // as kRunsOfJob
extern const char* const kLease;
extern const char* const kOpenLeases;
extern const char* const kEventsAfter;
extern const char* const kSubmission;
extern const char* const kTokens;
}  // namespace sql

[[nodiscard]] JobRow read_job(Query& query);
[[nodiscard]] RunRow read_run(Query& query);
[[nodiscard]] GpuRow read_gpu(Query& query);
[[nodiscard]] InstanceRow read_instance(Query& query);
[[nodiscard]] MoveRow read_move(Query& query);
[[nodiscard]] EventRow read_event_row(Query& query);
[[nodiscard]] LeaseRow read_lease(Query& query);
[[nodiscard]] SubmissionRow read_submission(Query& query);
[[nodiscard]] TokenRow read_token(Query& query);

void write(Statements& statements, const ArrayRow& row);
void write(Statements& statements, const JobRow& row);
void write(Statements& statements, const RunRow& row);
void write(Statements& statements, const GpuRow& row);
void write(Statements& statements, const InstanceRow& row);
void write(Statements& statements, const MoveRow& row);
void write(Statements& statements, const EventRow& row);
void write(Statements& statements, const LeaseRow& row);
void write(Statements& statements, const SubmissionRow& row);
void write(Statements& statements, const TokenRow& row);

}  // namespace tangram::store
