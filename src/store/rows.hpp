// The rows that people see, to and from the tables. Private to the store. One rule: the order of
// columns is written down once per table, here and in rows.cpp side by side.
#pragma once

#include "store/query.hpp"
#include "store/store.hpp"

namespace tangram::store {

namespace sql {
extern const char* const kJob;
extern const char* const kPastJobs;
extern const char* const kLivingJobs;
extern const char* const kRunsOfJob;
extern const char* const kGpus;
extern const char* const kInstances;
extern const char* const kMovesOfJob;
}  // namespace sql

[[nodiscard]] JobRow read_job(Query& query);
[[nodiscard]] RunRow read_run(Query& query);
[[nodiscard]] GpuRow read_gpu(Query& query);
[[nodiscard]] InstanceRow read_instance(Query& query);
[[nodiscard]] MoveRow read_move(Query& query);

void write(Statements& statements, const JobRow& row);
void write(Statements& statements, const RunRow& row);
void write(Statements& statements, const GpuRow& row);
void write(Statements& statements, const InstanceRow& row);
void write(Statements& statements, const MoveRow& row);

}  // namespace tangram::store
