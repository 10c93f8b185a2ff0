// See usage.hpp. Also Store::usage(), which adds the usage of existing runs to the daily sums of
// deleted ones.
#include "store/usage.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace tangram::store {
namespace {

using Day = std::chrono::sys_days;  // of UTC

constexpr std::chrono::days kDaysKept{1100};

Day day_of(WallTime time) { return std::chrono::floor<std::chrono::days>(time); }
std::int64_t number_of(Day day) { return day.time_since_epoch().count(); }

struct UsageByDay {
  std::uint32_t uid = 0;
  std::string user;
  std::string profile;
  std::map<Day, std::chrono::microseconds> days;
};

void add_span(std::map<Day, std::chrono::microseconds>& days, WallTime from, WallTime until) {
  // Older days would be deleted anyway, and a wrong clock must not fill the table.
  from = std::max(from, WallTime(day_of(until) - kDaysKept));
  for (Day day = day_of(from); WallTime(day) < until; day += std::chrono::days(1)) {
    const WallTime end = std::min(until, WallTime(day + std::chrono::days(1)));
    days[day] += end - std::max(from, WallTime(day));
  }
}

// From when to when an ended run held its instance, for as long as the clock since boot says. If
// the wall clock was set forward meanwhile, the end is kept; if it was set back, the beginning.
#define HELD_SINCE "coalesce(max(runs.ended - runs.held, asked), asked)"
#define HELD_UNTIL(otherwise) \
  "coalesce(max(runs.ended, asked + runs.held), runs.ended, " otherwise ")"
// A run without an end time ended with its job.
constexpr const char* kOfJob =
    "SELECT uid, user, jobs.profile, " HELD_SINCE ", " HELD_UNTIL("jobs.ended, asked") " "
    "FROM runs JOIN jobs ON jobs.id = runs.job WHERE runs.job = ?";
constexpr const char* kOfRun =
    "SELECT uid, user, jobs.profile, " HELD_SINCE ", " HELD_UNTIL("jobs.ended, asked") " "
    "FROM runs JOIN jobs ON jobs.id = runs.job WHERE runs.run = ?";

UsageByDay usage_of(Store::Impl& impl, const char* runs, std::uint64_t number) {
  Query query = impl.query(runs);
  query.bind(number);
  UsageByDay held;
  while (query.next()) {
    WallTime asked;
    WallTime until;
    query.row(held.uid, held.user, held.profile, asked, until);
    if (asked < until) add_span(held.days, asked, until);
  }
  return held;
}

// A run holds its instance from the decision to its end; without an end time, to that of its job.
// ?4 to ?6: wall clock, time since boot and boot ID of now, or NULL.
constexpr const char* kKeptUsage =
    "SELECT user, profile, count(DISTINCT job), sum(min(until, ?2) - max(since, ?1)) FROM ("
    "  SELECT jobs.user AS user, jobs.profile AS profile, runs.job AS job,"
    "    CASE WHEN runs.over = 0 AND runs.boot = ?6"
    "      THEN coalesce(?4 - max(?5 - runs.asked_since_boot, 0), asked)"
    "      ELSE " HELD_SINCE " END AS since, "
    HELD_UNTIL("CASE WHEN jobs.over = 1 THEN jobs.ended END, ?2") " AS until"
    "  FROM runs JOIN jobs ON jobs.id = runs.job WHERE ?3 IS NULL OR jobs.user = ?3) "
    "WHERE until > ?1 AND since < ?2 AND until > since GROUP BY user, profile";
// Counts the jobs that held something on the first day, and those that started after it.
constexpr const char* kDeletedUsage =
    "SELECT user, profile, sum(CASE WHEN day = ?1 THEN jobs ELSE begun END), sum(held) FROM used "
    "WHERE day BETWEEN ?1 AND ?2 AND (?3 IS NULL OR user = ?3) GROUP BY user, profile";

bool has_daily_usage(Store::Impl& impl, Day day) {
  Query query = impl.query("SELECT 1 FROM used WHERE day = ? LIMIT 1");
  return query.bind(number_of(day)).next();
}

// Extends the interval to whole days where only daily sums exist, and clips it to what is known.
std::pair<WallTime, WallTime> covered_interval(Store::Impl& impl, WallTime from, WallTime to) {
  Query query = impl.query("SELECT used_since FROM forgotten");
  const WallTime since = query.next() ? query.column<WallTime>(0) : WallTime{};
  from = std::max(from, since);
  to = std::max(to, from);
  if (has_daily_usage(impl, day_of(from))) from = std::max(since, WallTime(day_of(from)));
  if (to > from && has_daily_usage(impl, day_of(to - std::chrono::microseconds(1)))) {
    const WallTime now =
        std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
    const WallTime end(day_of(to - std::chrono::microseconds(1)) + std::chrono::days(1));
    to = std::min(end, std::max(to, now));
  }
  return {from, to};
}

using Sums = std::map<std::pair<std::string, std::string>, UsageRow>;

void add(Query& query, Sums& sums) {
  while (query.next()) {
    UsageRow row;
    query.row(row.user, row.profile, row.jobs, row.held);
    UsageRow& sum = sums.try_emplace({row.user, row.profile}, row.user, row.profile).first->second;
    sum.jobs += row.jobs;
    sum.held += row.held;
  }
}

void insert_usage(Store::Impl& impl, const UsageByDay& held, int jobs) {
  if (held.days.empty()) return;
  const Day first = held.days.begin()->first;
  const Day last = held.days.rbegin()->first;
  for (Day day = first; day <= last; day += std::chrono::days(1)) {
    const auto at = held.days.find(day);
    const auto time = at == held.days.end() ? std::chrono::microseconds(0) : at->second;
    impl.query(
            "INSERT INTO used (day, uid, profile, user, held, jobs, begun) "
            "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (day, uid, profile) DO UPDATE SET "
            "user = excluded.user, held = held + excluded.held, jobs = jobs + excluded.jobs, "
            "begun = begun + excluded.begun")
        .bind(number_of(day), held.uid, held.profile, held.user, time, jobs,
              day == first ? jobs : 0)
        .run();
  }
}

}  // namespace

void add_job_usage(Store::Impl& impl, std::uint64_t job) {
  insert_usage(impl, usage_of(impl, kOfJob, job), 1);
}

// The job itself is counted when it is deleted.
void add_run_usage(Store::Impl& impl, std::uint64_t run) {
  insert_usage(impl, usage_of(impl, kOfRun, run), 0);
}

void delete_old_usage(Store::Impl& impl, WallTime now) {
  const Day oldest = day_of(now) - kDaysKept;
  Query query = impl.query("DELETE FROM used WHERE day < ?");
  query.bind(number_of(oldest)).run();
  if (query.changes() == 0) return;
  impl.query("UPDATE forgotten SET used_since = max(used_since, ?)").bind(WallTime(oldest)).run();
}

Result<Usage> Store::usage(WallTime from, WallTime to, const std::optional<std::string>& user,
                           const std::optional<ClockReading>& now) {
  return impl_->guarded("read", [&]() -> Result<Usage> {
    const ReadTransaction transaction(impl_->db);
    Usage usage;
    std::tie(usage.from, usage.to) = covered_interval(*impl_, from, to);
    Sums sums;
    Query kept = impl_->query(kKeptUsage);
    const auto wall = now.transform([](const ClockReading& c) { return c.wall; });
    const auto since_boot = now.transform([](const ClockReading& c) { return c.since_boot; });
    const std::string boot = now ? now->boot : "";
    add(kept.bind(usage.from, usage.to, user, wall, since_boot, boot), sums);
    Query forgotten = impl_->query(kDeletedUsage);
    const Day last = day_of(usage.to - std::chrono::microseconds(1));
    add(forgotten.bind(number_of(day_of(usage.from)), number_of(last), user), sums);
    for (auto& [key, row] : sums) usage.rows.push_back(std::move(row));
    return usage;
  });
}

}  // namespace tangram::store
