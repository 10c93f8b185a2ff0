// Usage of jobs that retention deletes, added up by day, user and profile, so that reported usage
// does not shrink. Private to the store. Must be called in the transaction that deletes the job or
// run, so that its usage counts exactly once.
#pragma once

#include <cstdint>

#include "store/store_impl.hpp"

namespace tangram::store {

// Adds the usage of a job that is about to be deleted.
void add_job_usage(Store::Impl& impl, std::uint64_t job);
// Adds the usage of a run that is about to be deleted while its job stays.
void add_run_usage(Store::Impl& impl, std::uint64_t run);

// Deletes usage older than about three years; reported usage starts after it.
void delete_old_usage(Store::Impl& impl, WallTime now);

}  // namespace tangram::store
