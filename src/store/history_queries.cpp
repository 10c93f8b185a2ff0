// See store.hpp: queries for the API: finished jobs, runs, moves, leases, events, submissions and
// tokens.
#include <algorithm>
#include <limits>

#include "store/rows.hpp"
#include "store/store_impl.hpp"

namespace tangram::store {
namespace {

// SQLite's integers are signed.
std::uint64_t signed_limit(std::uint64_t number) {
  return std::min<std::uint64_t>(number, std::numeric_limits<std::int64_t>::max());
}

}  // namespace

Result<std::vector<JobRow>> Store::finished_jobs(std::uint64_t before_id, std::size_t most,
                                                 const FinishedJobFilter& filter) {
  return impl_->guarded("read", [&]() -> Result<std::vector<JobRow>> {
    std::vector<JobRow> rows;
    std::optional<std::string> label;  // as a JSON path
    if (filter.label) label = "$.\"" + *filter.label + "\"";
    const char* const of_user = filter.user ? sql::kFinishedJobsOfUser : sql::kFinishedJobs;
    Query query = impl_->query(filter.name ? sql::kFinishedJobsOfName : of_user);
    query.bind(signed_limit(before_id), signed_limit(most), filter.user, filter.profile,
               filter.state, filter.since, filter.until, filter.name, label, filter.label_value,
               filter.uid, filter.array);
    while (query.next()) rows.push_back(read_job(query));
    return rows;
  });
}

Result<std::optional<JobRow>> Store::job(std::uint64_t id) {
  return impl_->guarded("read", [&]() -> Result<std::optional<JobRow>> {
    Query query = impl_->query(sql::kJob);
    if (!query.bind(signed_limit(id)).next()) return std::nullopt;
    return read_job(query);
  });
}

Result<std::vector<RunRow>> Store::runs(std::uint64_t job, std::size_t most) {
  return impl_->guarded("read", [&]() -> Result<std::vector<RunRow>> {
    std::vector<RunRow> rows;
    Query query = impl_->query(sql::kRunsOfJob);
    query.bind(signed_limit(job), signed_limit(most));
    while (query.next()) rows.push_back(read_run(query));
    return rows;
  });
}

Result<std::vector<KeptRun>> Store::kept_runs() {
  return impl_->guarded("read", [&]() -> Result<std::vector<KeptRun>> {
    std::vector<KeptRun> runs;
    Query query = impl_->query("SELECT run, asked FROM runs WHERE kept = 1 OR over = 0");
    while (query.next()) {
      runs.push_back({query.column<std::uint32_t>(0), query.column<WallTime>(1)});
    }
    return runs;
  });
}

Result<std::vector<EndedRun>> Store::ended_runs() {
  return impl_->guarded("read", [&]() -> Result<std::vector<EndedRun>> {
    std::vector<EndedRun> runs;
    Query query = impl_->query(
        "SELECT runs.run, jobs.uid, runs.asked FROM runs JOIN jobs ON jobs.id = runs.job "
        "WHERE runs.kept = 1 AND runs.over = 1");
    while (query.next()) {
      EndedRun& run = runs.emplace_back();
      query.row(run.run, run.uid, run.asked);
    }
    return runs;
  });
}

Result<std::map<std::uint64_t, std::uint64_t>> Store::request_sizes() {
  return impl_->guarded("read", [&]() -> Result<std::map<std::uint64_t, std::uint64_t>> {
    std::map<std::uint64_t, std::uint64_t> sizes;
    Query query = impl_->query(
        "SELECT job, length(CAST(request AS BLOB)) FROM requests WHERE job IN "
        "(SELECT id FROM jobs WHERE over = 0) UNION ALL "
        "SELECT jobs.id, (length(CAST(request AS BLOB)) + tasks - 1) / tasks FROM arrays "
        "JOIN jobs ON array_id = arrays.id WHERE array_id <> 0 AND over = 0");
    while (query.next()) {
      sizes.emplace(query.column<std::uint64_t>(0), query.column<std::uint64_t>(1));
    }
    return sizes;
  });
}

Result<std::vector<MoveRow>> Store::moves(std::uint64_t job, std::size_t most) {
  return impl_->guarded("read", [&]() -> Result<std::vector<MoveRow>> {
    std::vector<MoveRow> rows;
    Query query = impl_->query(sql::kMovesOfJob);
    query.bind(signed_limit(job), signed_limit(most));
    while (query.next()) rows.push_back(read_move(query));
    return rows;
  });
}

Result<std::optional<LeaseRow>> Store::lease(std::uint64_t job) {
  return impl_->guarded("read", [&]() -> Result<std::optional<LeaseRow>> {
    Query query = impl_->query(sql::kLease);
    if (!query.bind(signed_limit(job)).next()) return std::nullopt;
    return read_lease(query);
  });
}

Result<std::optional<PlacementStep>> Store::placement_step(std::uint64_t job) {
  return impl_->guarded("read", [&]() -> Result<std::optional<PlacementStep>> {
    Query query = impl_->query(
        "SELECT sequence, wall FROM journal WHERE sequence = (SELECT placed FROM jobs "
        "WHERE id = ?)");
    if (!query.bind(signed_limit(job)).next()) return std::nullopt;
    PlacementStep step;
    query.row(step.sequence, step.wall);
    return step;
  });
}

Result<std::vector<EventRow>> Store::events(std::uint64_t after, std::size_t most) {
  return impl_->guarded("read", [&]() -> Result<std::vector<EventRow>> {
    std::vector<EventRow> rows;
    Query query = impl_->query(sql::kEventsAfter);
    query.bind(signed_limit(after), signed_limit(most));
    while (query.next()) rows.push_back(read_event_row(query));
    return rows;
  });
}

Result<std::uint64_t> Store::first_event() {
  return impl_->guarded("read", [&]() -> Result<std::uint64_t> {
    Query query = impl_->query("SELECT min(id) FROM events");
    const auto first = query.next() ? query.column<std::optional<std::uint64_t>>(0) : std::nullopt;
    return first.value_or(impl_->last_event + 1);
  });
}

std::uint64_t Store::last_event() const { return impl_->last_event; }

Result<std::optional<SubmissionRow>> Store::submission(std::uint32_t uid, const std::string& key) {
  return impl_->guarded("read", [&]() -> Result<std::optional<SubmissionRow>> {
    const auto now = std::chrono::system_clock::now();
    const WallTime oldest = std::chrono::floor<std::chrono::microseconds>(now) - kSubmissionsKept;
    Query query = impl_->query(sql::kSubmission);
    if (!query.bind(uid, key, oldest).next()) return std::nullopt;
    return read_submission(query);
  });
}

Result<std::vector<TokenRow>> Store::tokens() {
  return impl_->guarded("read", [&]() -> Result<std::vector<TokenRow>> {
    std::vector<TokenRow> rows;
    Query query = impl_->query(sql::kTokens);
    while (query.next()) rows.push_back(read_token(query));
    return rows;
  });
}

Result<std::uint64_t> Store::last_token() {
  return impl_->guarded("read", [&]() -> Result<std::uint64_t> {
    Query query = impl_->query("SELECT seq FROM sqlite_sequence WHERE name = 'tokens'");
    return query.next() ? query.column<std::uint64_t>(0) : 0;
  });
}

}  // namespace tangram::store
