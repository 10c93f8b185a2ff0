// Queries for the API: finished jobs, usage, events, leases, submissions, tokens, and earlier
// states of the scheduler.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/replay.hpp"
#include "store/rows.hpp"
#include "store/store_impl.hpp"
#include "tests/support/os/folder.hpp"
#include "tests/support/store/scheduler_driver.hpp"

namespace tangram::store {
namespace {

using namespace std::chrono_literals;
using os::testing::Folder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::job_row;
using testing::must;
using testing::open_at;
using testing::run_jobs;
using testing::run_row;
using testing::SchedulerDriver;
using testing::wall;

JobRow past(std::uint64_t id, const char* user, const char* profile, const char* state,
            std::int64_t ended) {
  JobRow row = job_row(id, true, wall(ended));
  row.user = user;
  row.profile = profile;
  row.state = state;
  return row;
}

std::vector<std::uint64_t> ids(const Result<std::vector<JobRow>>& rows) {
  std::vector<std::uint64_t> all;
  for (const JobRow& row : rows.value()) all.push_back(row.id);
  return all;
}

TEST(FinishedJobs, AreFilteredAndPaged) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  Changes changes;
  changes.jobs = {past(1, "ada", "1g.5gb", "completed", 10), past(2, "bob", "1g.5gb", "failed", 20),
                  past(3, "ada", "2g.10gb", "failed", 30),
                  past(4, "ada", "1g.5gb", "completed", 40), job_row(5)};
  must(store->commit(changes));
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  EXPECT_THAT(ids(store->finished_jobs(kAll, 10)), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(ids(store->finished_jobs(kAll, 2)), ElementsAre(4, 3));
  EXPECT_THAT(ids(store->finished_jobs(3, 10)), ElementsAre(2, 1));
  EXPECT_THAT(ids(store->finished_jobs(kAll, 10, {.user = "ada"})), ElementsAre(4, 3, 1));
  EXPECT_THAT(ids(store->finished_jobs(4, 1, {.user = "ada"})), ElementsAre(3));
  EXPECT_THAT(ids(store->finished_jobs(kAll, 10, {.user = "ada", .profile = "1g.5gb"})),
              ElementsAre(4, 1));
  EXPECT_THAT(ids(store->finished_jobs(kAll, 10, {.state = "failed"})), ElementsAre(3, 2));
  EXPECT_THAT(ids(store->finished_jobs(kAll, 10, {.since = wall(20), .until = wall(40)})),
              ElementsAre(3, 2));
  EXPECT_THAT(ids(store->finished_jobs(kAll, 10, {.user = "eve"})), ElementsAre());
}

RunRow held(std::uint32_t run, std::uint64_t job, std::int64_t from,
            std::optional<std::int64_t> to) {
  RunRow row = run_row(run, job);
  row.asked = wall(from);
  if (to) row.ended = wall(*to);
  return row;
}

// E.g. "ada 1g.5gb 2 60": user, profile, number of jobs, microseconds.
std::vector<std::string> texts(const Result<Usage>& usage) {
  std::vector<std::string> all;
  for (const UsageRow& row : usage.value().rows) {
    all.push_back(row.user + " " + row.profile + " " + std::to_string(row.jobs) + " " +
                  std::to_string(row.held.count()));
  }
  return all;
}

TEST(Usage, IsClippedToTheInterval) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  Changes changes;
  changes.jobs = {past(1, "ada", "1g.5gb", "completed", 50), past(2, "ada", "1g.5gb", "failed", 90),
                  past(3, "bob", "2g.10gb", "failed", 60)};
  JobRow going = job_row(4);
  going.user = "ada";
  going.profile = "2g.10gb";
  changes.jobs.push_back(going);
  changes.runs = {held(1, 1, 0, 50), held(2, 2, 40, 60), held(3, 2, 70, 90),
                  held(4, 3, 20, {}),  // no end time; its job ended at 60
                  held(5, 4, 80, {})};
  must(store->commit(changes));
  const auto rows = store->usage(wall(30), wall(100), std::nullopt);
  EXPECT_THAT(texts(rows), ElementsAre("ada 1g.5gb 2 60",  // 30–50, 40–60, 70–90
                                       "ada 2g.10gb 1 20", "bob 2g.10gb 1 30"));
  EXPECT_THAT(texts(store->usage(wall(30), wall(100), "bob")), ElementsAre("bob 2g.10gb 1 30"));
  EXPECT_THAT(texts(store->usage(wall(60), wall(70), std::nullopt)), ElementsAre());
}

// The wall clock was set forward by 900 (or back by 30) while the run held its instance for 60.
TEST(Usage, DoesNotFollowAWallClockThatIsSet) {
  using std::chrono::microseconds;
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  Changes changes;
  changes.jobs = {past(1, "ada", "1g.5gb", "completed", 1000),
                  past(2, "bob", "1g.5gb", "failed", 70), job_row(3)};
  changes.jobs[2].user = "eve";
  changes.jobs[2].profile = "1g.5gb";
  for (JobRow& job : changes.jobs) job.uid = static_cast<std::uint32_t>(job.id);
  changes.runs = {held(1, 1, 40, 1000), held(2, 2, 100, 70), held(3, 3, 40, {})};
  for (RunRow& run : changes.runs) {
    run.over = run.job != 3;
    run.boot = "b";
    run.asked_since_boot = microseconds(5'040);
    if (run.over) run.held = microseconds(60);
  }
  must(store->commit(changes));
  const ClockReading now{.wall = wall(1000), .since_boot = microseconds(5'100), .boot = "b"};
  EXPECT_THAT(texts(store->usage(wall(0), wall(1000), std::nullopt, now)),
              ElementsAre("ada 1g.5gb 1 60", "bob 1g.5gb 1 60", "eve 1g.5gb 1 60"));
  EXPECT_THAT(texts(store->usage(wall(0), wall(950), std::nullopt, now)),
              ElementsAre("ada 1g.5gb 1 10", "bob 1g.5gb 1 60", "eve 1g.5gb 1 10"));
  // After a reboot, only the wall clock can tell for a run that has not ended.
  const ClockReading rebooted{.wall = wall(1000), .since_boot = microseconds(7), .boot = "c"};
  EXPECT_THAT(texts(store->usage(wall(0), wall(1000), "eve", rebooted)),
              ElementsAre("eve 1g.5gb 1 960"));
  // The daily sums of deleted jobs have the same.
  ASSERT_TRUE(
      store->apply_retention({.jobs = std::chrono::hours(0), .most_jobs = 0}, wall(1'000'000)));
  for (const char* user : {"ada", "bob"}) {
    EXPECT_THAT(texts(store->usage(wall(0), wall(1000), user, now)),
                ElementsAre(std::string(user) + " 1g.5gb 1 60"));
  }
}

// Midnight of a recent day plus `days`, in microseconds.
std::int64_t midnight(int later) {
  constexpr std::int64_t kDay = 86'400'000'000;
  static const std::int64_t first =
      std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now())
          .time_since_epoch()
          .count() -
      10;
  return (first + later) * kDay;
}

// Jobs on three days; the first one continues into the second day.
Changes three_days() {
  Changes changes;
  changes.jobs = {past(1, "ada", "1g.5gb", "completed", midnight(1) + 50),
                  past(2, "ada", "1g.5gb", "failed", midnight(1) + 90),
                  past(3, "bob", "2g.10gb", "failed", midnight(2) + 60)};
  changes.jobs[2].uid = 7;
  changes.runs = {held(1, 1, midnight(1) - 10, midnight(1) + 50),
                  held(2, 2, midnight(1) + 40, midnight(1) + 90), held(3, 3, midnight(2) + 20, {})};
  return changes;
}

TEST(Usage, StaysWhenItsJobsAreDeleted) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  must(store->commit(three_days()));
  const auto all = [&] { return store->usage(wall(0), wall(midnight(3)), std::nullopt); };
  const auto before = texts(all());
  EXPECT_THAT(before, ElementsAre("ada 1g.5gb 2 110", "bob 2g.10gb 1 40"));
  for (const std::size_t left : {2U, 1U, 0U}) {
    const Retention retention{.jobs = std::chrono::hours(24 * 365 * 200), .most_jobs = left};
    ASSERT_TRUE(store->apply_retention(retention));
    EXPECT_EQ(store->counts()->jobs, left);
    EXPECT_EQ(texts(all()), before) << left;
  }
  EXPECT_EQ(all()->from, wall(0));
  // By whole days: a job that started the day before counts on each day, but only once in total.
  const auto second = store->usage(wall(midnight(1) + 60), wall(midnight(1) + 70), std::nullopt);
  EXPECT_THAT(texts(second), ElementsAre("ada 1g.5gb 2 100"));
  EXPECT_EQ(second->from, wall(midnight(1)));
  EXPECT_EQ(second->to, wall(midnight(2)));
  EXPECT_THAT(texts(store->usage(wall(0), wall(midnight(1)), "ada")),
              ElementsAre("ada 1g.5gb 1 10"));
  EXPECT_THAT(texts(store->usage(wall(0), wall(midnight(2)), "bob")), ElementsAre());
}

TEST(Usage, DoesNotCoverDaysWithoutData) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  must(store->commit(three_days()));
  store.reset();
  SQLite::Database(folder.at("tangram.db"), SQLite::OPEN_READWRITE)
      .exec("UPDATE forgotten SET used_since = " + std::to_string(midnight(1) + 45));
  store = open_at(folder.at("tangram.db"));
  const auto usage = store->usage(wall(0), wall(midnight(2)), std::nullopt);
  EXPECT_EQ(usage->from, wall(midnight(1) + 45));
  EXPECT_THAT(texts(usage), ElementsAre("ada 1g.5gb 2 50"));
}

TEST(FinishedJobs, AreFoundByNameThroughAnIndex) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  Changes changes;
  for (std::uint64_t id = 1; id <= 9; ++id) {
    changes.jobs.push_back(past(id, id % 2 == 0 ? "ada" : "bob", "1g.5gb", "completed", 10));
    changes.jobs.back().name = id % 3 == 0 ? "train" : "other";
  }
  must(store->commit(changes));
  EXPECT_THAT(ids(store->finished_jobs(100, 10, {.name = "train"})), ElementsAre(9, 6, 3));
  EXPECT_THAT(ids(store->finished_jobs(9, 1, {.name = "train"})), ElementsAre(6));
  EXPECT_THAT(ids(store->finished_jobs(100, 10, {.user = "ada", .name = "train"})), ElementsAre(6));
  SQLite::Database db(folder.at("tangram.db"), SQLite::OPEN_READONLY);
  SQLite::Statement plan(db, std::string("EXPLAIN QUERY PLAN ") + sql::kFinishedJobsOfName);
  ASSERT_TRUE(plan.executeStep());
  EXPECT_THAT(plan.getColumn(3).getString(), HasSubstr("jobs_over_of_name (name=? AND id<?)"));
}

EventRow event(std::uint64_t id) {
  return {.id = id,
          .step = id,
          .wall = wall(static_cast<std::int64_t>(id)),
          .kind = "job.placed",
          .job = id * 10,
          .event = "{}"};
}

TEST(Events, AreNumberedWithoutGapsOrReuse) {
  const Folder folder;
  {
    auto store = open_at(folder.at("tangram.db"));
    EXPECT_EQ(store->first_event().value(), 1U);
    Changes changes;
    for (std::uint64_t id = 1; id <= 5; ++id) changes.events.push_back(event(id));
    must(store->commit(changes));
    ASSERT_TRUE(store->apply_retention({.most_steps = 0}));
    EXPECT_EQ(store->first_event().value(), 5U);
  }
  auto store = open_at(folder.at("tangram.db"));
  EXPECT_EQ(store->last_event(), 5U);
  Changes changes;
  changes.events = {event(6), event(7)};
  must(store->commit(changes));
  const auto page = store->events(4, 2);
  ASSERT_EQ(page->size(), 2U);
  EXPECT_EQ((*page)[0].id, 5U);
  EXPECT_EQ((*page)[1].job, 60U);
  EXPECT_EQ((*page)[1].kind, "job.placed");
  EXPECT_EQ(store->counts()->events, 3U);
}

TEST(Events, NumbersOfAFailedBatchAreReused) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  Changes changes;
  changes.events = {event(1)};
  RunRow orphan_run = run_row(1, 77);  // no such job: the batch fails
  changes.runs = {orphan_run};
  EXPECT_FALSE(store->commit(changes));
  EXPECT_EQ(store->last_event(), 0U);
  changes.runs.clear();
  must(store->commit(changes));
  EXPECT_EQ(store->last_event(), 1U);
}

TEST(Leases, AreLoadedUntilTheyEnd) {
  const Folder folder;
  {
    auto store = open_at(folder.at("tangram.db"));
    Changes changes;
    changes.jobs = {job_row(1), job_row(2), job_row(3, true, wall(1))};
    changes.leases = {{.job = 1, .taker = 7, .key = "a", .ttl = 5s, .linger = 2s, .wait_until = 9s},
                      {.job = 2,
                       .key = "",
                       .ttl = 1s,
                       .wait_until = 0s,
                       .deadline = 123'456us,
                       .granted = wall(7)},
                      {.job = 3, .key = "c", .ttl = 1s}};
    must(store->commit(changes));
  }
  auto store = open_at(folder.at("tangram.db"));
  const auto contents = store->load(10);
  ASSERT_TRUE(contents);
  ASSERT_EQ(contents->leases.size(), 2U);
  EXPECT_EQ(contents->leases[0].taker, 7U);
  EXPECT_EQ(contents->leases[0].key, "a");
  EXPECT_EQ(contents->leases[0].ttl, 5s);
  EXPECT_EQ(contents->leases[0].linger, 2s);
  EXPECT_EQ(contents->leases[0].wait_until, 9s);
  EXPECT_FALSE(contents->leases[0].deadline);
  EXPECT_EQ(contents->leases[1].deadline, 123'456us);
  EXPECT_EQ(contents->leases[1].granted, wall(7));
  EXPECT_EQ((*store->lease(3))->key, "c");
  EXPECT_FALSE(*store->lease(4));
}

WallTime now() {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

TEST(Submissions, AreRememberedForADay) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  Changes changes;
  changes.submissions = {
      {.uid = 1, .key = "k", .fingerprint = "f", .job = 7, .wall = now()},
      {.uid = 2, .key = "k", .fingerprint = "g", .job = 8, .wall = now() - kSubmissionsKept}};
  must(store->commit(changes));
  const auto found = store->submission(1, "k");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->fingerprint, "f");
  EXPECT_EQ((*found)->job, 7U);
  EXPECT_FALSE(*store->submission(2, "k"));
  EXPECT_FALSE(*store->submission(1, "other"));
  ASSERT_TRUE(store->apply_retention({}));
  SQLite::Database db(folder.at("tangram.db"), SQLite::OPEN_READONLY);
  EXPECT_EQ(db.execAndGet("SELECT count(*) FROM submissions").getInt(), 1);
}

TEST(Tokens, IdsAreNotReusedAfterDeletion) {
  const Folder folder;
  {
    auto store = open_at(folder.at("tangram.db"));
    EXPECT_EQ(store->last_token().value(), 0U);
    TokenRow token{.id = 1, .hash = "ab", .name = "ci", .uid = 5, .user = "ada", .scope = "read"};
    token.created = now();
    token.expires = now() + 1h;
    Changes changes;
    changes.tokens = {token, token};
    changes.tokens[1].id = 2;
    changes.tokens[1].expires = wall(5);
    must(store->commit(changes));
    token.revoked = true;
    changes.tokens = {token};
    must(store->commit(changes));
    ASSERT_TRUE(store->apply_retention({}));
  }
  auto store = open_at(folder.at("tangram.db"));
  const auto tokens = store->tokens();
  ASSERT_EQ(tokens->size(), 1U);
  EXPECT_TRUE((*tokens)[0].revoked);
  EXPECT_EQ((*tokens)[0].hash, "ab");
  EXPECT_EQ((*tokens)[0].scope, "read");
  EXPECT_EQ(store->last_token().value(), 2U);
}

TEST(Tokens, AreDeletedADayAfterTheirEnd) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  Changes changes;
  for (std::uint64_t id = 1; id <= 3; ++id) {
    TokenRow token{.id = id, .hash = "ab", .name = "", .uid = 5, .user = "ada", .scope = "read"};
    token.expires = now() - 23h * static_cast<int>(id - 1);
    token.revoked = id == 3;
    changes.tokens.push_back(token);
  }
  must(store->commit(changes));
  ASSERT_TRUE(store->apply_retention({}));
  const auto tokens = store->tokens();
  ASSERT_EQ(tokens->size(), 2U);
  EXPECT_EQ((*tokens)[1].id, 2U);
}

// For every step, replayed by a reader while the store is open for writing.
TEST(ReplayTo, ReturnsTheSchedulerAsItWas) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  SchedulerDriver driver;
  run_jobs(*store, driver, 1, 20);
  auto looking = open_at(folder.at("tangram.db"), {.read_only = true});
  const std::uint64_t last = store->last_step();
  const auto end = replay_to(*looking, last + 1);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->save(), driver.scheduler().save());
  for (std::uint64_t at = 1; at <= last; at += 7) {
    auto before = replay_to(*looking, at);
    ASSERT_TRUE(before) << before.error().message;
    const Step step = store->steps(at, 1)->front();
    core::Actions actions;
    before->step(step.at, step.event, actions);
    EXPECT_EQ(decisions_text(before->node(), actions), step.decisions);
  }
  EXPECT_THAT(replay_to(*looking, last + 2).error().message, HasSubstr("no step"));
}

TEST(ReplayTo, BeginsAtTheNearestSnapshotAndNotBeforeTheOldest) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  SchedulerDriver driver;
  run_jobs(*store, driver, 1, 10);
  const std::uint64_t cut = store->last_step();
  ASSERT_TRUE(store->apply_retention({.most_steps = 0}));
  run_jobs(*store, driver, 50, 10);
  EXPECT_EQ(store->state_before(store->last_step())->sequence, cut);
  ASSERT_TRUE(replay_to(*store, store->last_step()));
  EXPECT_THAT(replay_to(*store, cut).error().message, HasSubstr("does not go back"));
}

TEST(PlacementStep, IsFoundWhileTheJournalHasIt) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  SchedulerDriver driver;
  run_jobs(*store, driver, 1, 4);
  JobRow placed = job_row(2);
  placed.placed = 3;
  Changes changes = driver.take();
  changes.jobs = {placed};
  must(store->commit(changes));
  const auto step = store->placement_step(2);
  ASSERT_TRUE(step && *step);
  EXPECT_EQ((*step)->sequence, 3U);
  EXPECT_EQ((*step)->wall, store->steps(3, 1)->front().wall);
  EXPECT_FALSE(*store->placement_step(1));
  EXPECT_FALSE(*store->placement_step(99));
}

}  // namespace
}  // namespace tangram::store
