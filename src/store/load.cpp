// Store::load(): everything a daemon needs to resume. Any unreadable row fails the whole load,
// because resuming with a part of the state would be worse than not starting.
#include <algorithm>
#include <limits>

#include "base/text.hpp"
#include "store/rows.hpp"
#include "store/saved_json.hpp"
#include "store/store_impl.hpp"

namespace tangram::store {
namespace {

template <class Row, class Read>
std::vector<Row> read_all(Statements& statements, const char* sql, Read read) {
  std::vector<Row> rows;
  Query query(statements.get(sql));
  while (query.next()) rows.push_back(read(query));
  return rows;
}

void load_jobs(Statements& statements, std::size_t most_over, Contents& out) {
  Query past(statements.get(sql::kFinishedJobs));
  past.bind(std::numeric_limits<std::int64_t>::max(), most_over);  // no filter
  while (most_over > 0 && past.next()) out.jobs.push_back(read_job(past));
  Query living(statements.get(sql::kActiveJobs));
  while (living.next()) out.jobs.push_back(read_job(living));
  std::ranges::sort(out.jobs, {}, &JobRow::id);
  for (const JobRow& job : out.jobs) {
    Query runs(statements.get(sql::kRunsOfJob));
    runs.bind(job.id, kMaxRunsKept);
    while (runs.next()) out.runs.push_back(read_run(runs));
    Query moves(statements.get(sql::kMovesOfJob));
    moves.bind(job.id, kMaxRunsKept);
    while (moves.next()) out.moves.push_back(read_move(moves));
  }
  std::ranges::sort(out.runs, {}, &RunRow::run);
  std::ranges::sort(out.moves, {}, [](const MoveRow& m) { return std::pair(m.begun, m.job); });
}

void load_counts(Statements& statements, Contents& out) {
  Query query(
      statements.get("SELECT forgotten.jobs + (SELECT count(*) FROM jobs WHERE over = 1), "
                     "max(forgotten.last_job, (SELECT coalesce(max(id), 0) FROM jobs)) "
                     "FROM forgotten"));
  if (query.next()) query.row(out.jobs_over, out.last_job);
}

// The queries that load a scheduler; each takes the sequence of the snapshot as its parameter.
struct Tables {
  const char* rest;
  const char* gpus;
  const char* jobs;
};
constexpr Tables kPresent{
    "SELECT state FROM saved_rest WHERE ? = 0",
    "SELECT model, state FROM saved_gpus WHERE ? = 0 ORDER BY gpu",
    "SELECT state FROM saved_jobs WHERE ? = 0 ORDER BY job",
};
constexpr Tables kSnapshot{
    "SELECT rest FROM snapshots WHERE sequence = ?",
    "SELECT model, state FROM snapshot_gpus WHERE sequence = ? ORDER BY gpu",
    "SELECT state FROM snapshot_jobs WHERE sequence = ? ORDER BY job",
};

Result<core::Saved> load_saved(Statements& statements, Models& models, const Tables& tables,
                               std::uint64_t sequence) {
  core::Saved saved;
  Query rest(statements.get(tables.rest));
  if (!rest.bind(sequence).next()) return not_found("state not found");
  auto read = read_saved_rest(rest.column<std::string>(0));
  if (!read) return std::unexpected(read.error());
  saved.rest = *std::move(read);
  Query gpus(statements.get(tables.gpus));
  gpus.bind(sequence);
  while (gpus.next()) {
    auto gpu = read_saved_gpu(gpus.column<std::string>(1));
    if (!gpu) return std::unexpected(gpu.error());
    auto model = models.read(statements, gpus.column<std::int64_t>(0));
    if (!model) return std::unexpected(model.error());
    gpu->model = *std::move(model);
    saved.gpus.push_back(*std::move(gpu));
  }
  Query jobs(statements.get(tables.jobs));
  jobs.bind(sequence);
  while (jobs.next()) {
    auto job = read_saved_job(jobs.column<std::string>(0));
    if (!job) return std::unexpected(job.error());
    saved.jobs.push_back(*std::move(job));
  }
  return saved;
}

Result<core::Saved> with_path(Result<core::Saved> saved, const std::string& path) {
  if (saved) return saved;
  return failed(cat("the store ", path, " cannot be read: ", saved.error().message, " ",
                    recovery_hint(path)));
}

}  // namespace

Result<Contents> Store::load(std::size_t most_over_jobs) {
  return impl_->guarded("read", [&]() -> Result<Contents> {
    const ReadTransaction transaction(impl_->db);
    Contents out;
    load_jobs(impl_->statements, most_over_jobs, out);
    out.gpus = read_all<GpuRow>(impl_->statements, sql::kGpus, read_gpu);
    out.instances = read_all<InstanceRow>(impl_->statements, sql::kInstances, read_instance);
    out.leases = read_all<LeaseRow>(impl_->statements, sql::kOpenLeases, read_lease);
    Query facts = impl_->query("SELECT name, value FROM facts");
    while (facts.next()) out.facts[facts.column<std::string>(0)] = facts.column<std::string>(1);
    load_counts(impl_->statements, out);
    out.fresh = !impl_->query("SELECT 1 FROM saved_rest").next();
    if (out.fresh) return out;
    auto saved = scheduler();
    if (!saved) return std::unexpected(saved.error());
    out.scheduler = *std::move(saved);
    return out;
  });
}

Result<core::Saved> Store::scheduler() {
  return impl_->guarded("read", [&] {
    const ReadTransaction transaction(impl_->db);
    return with_path(load_saved(impl_->statements, impl_->models, kPresent, 0), impl_->path);
  });
}

Result<SavedState> Store::oldest_state() {
  return impl_->guarded("read", [&]() -> Result<SavedState> {
    const ReadTransaction transaction(impl_->db);
    Query oldest = impl_->query("SELECT min(sequence) FROM snapshots");
    const auto sequence =
        oldest.next() ? oldest.column<std::optional<std::uint64_t>>(0) : std::nullopt;
    if (!sequence) return not_found(cat("the store ", impl_->path, " is empty"));
    return state_before(*sequence + 1);
  });
}

Result<SavedState> Store::state_before(std::uint64_t step) {
  return impl_->guarded("read", [&]() -> Result<SavedState> {
    const ReadTransaction transaction(impl_->db);
    Query newest = impl_->query("SELECT max(sequence) FROM snapshots WHERE sequence < ?");
    const auto sequence =
        newest.bind(step).next() ? newest.column<std::optional<std::uint64_t>>(0) : std::nullopt;
    if (!sequence) {
      return not_found(cat("the store ", impl_->path, " does not go back to step ", step));
    }
    auto saved =
        with_path(load_saved(impl_->statements, impl_->models, kSnapshot, *sequence), impl_->path);
    if (!saved) return std::unexpected(saved.error());
    return SavedState{*sequence, *std::move(saved)};
  });
}

}  // namespace tangram::store
