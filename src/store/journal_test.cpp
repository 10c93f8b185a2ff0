// The journal: numbered without gaps, replayed with the same decisions, cut only at a snapshot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/replay.hpp"
#include "store/store_impl.hpp"
#include "tests/support/os/folder.hpp"
#include "tests/support/store/scheduler_driver.hpp"

namespace tangram::store {
namespace {

using os::testing::Folder;
using ::testing::HasSubstr;
using testing::job_row;
using testing::must;
using testing::open_at;
using testing::run_jobs;
using testing::run_row;
using testing::SchedulerDriver;

TEST(Journal, NumbersStepsWithoutGaps) {
  const Folder folder;
  SchedulerDriver driver;
  {
    auto store = open_at(folder.at("tangram.db"));
    run_jobs(*store, driver, 1, 10);
  }
  auto store = open_at(folder.at("tangram.db"));
  run_jobs(*store, driver, 50, 10);
  const auto steps = store->steps(0, 100'000);
  ASSERT_TRUE(steps);
  ASSERT_EQ(steps->size(), store->last_step());
  for (std::size_t i = 0; i < steps->size(); ++i) EXPECT_EQ((*steps)[i].sequence, i + 1);
  const auto some = store->steps(5, 3);
  ASSERT_EQ(some->size(), 3U);
  EXPECT_EQ((*some)[0].sequence, 5U);
}

TEST(Journal, ReplayNamesTheFirstStepThatDiffers) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  SchedulerDriver driver;
  run_jobs(*store, driver, 1, 10);
  SQLite::Database db(folder.at("tangram.db"), SQLite::OPEN_READWRITE);
  db.exec("UPDATE journal SET decisions = 'report job 1: lost' WHERE sequence IN (7, 9)");
  const auto replayed = replay(*store);
  ASSERT_FALSE(replayed);
  EXPECT_THAT(replayed.error().message, HasSubstr("step 7 ("));
  EXPECT_THAT(replayed.error().message, HasSubstr("Then:\nreport job 1: lost\nNow:\n"));
}

TEST(Journal, ReplayComparesTheTables) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  SchedulerDriver driver;
  run_jobs(*store, driver, 1, 10);
  SQLite::Database db(folder.at("tangram.db"), SQLite::OPEN_READWRITE);
  db.exec(R"(UPDATE saved_rest SET state = replace(state, '"next_run":', '"next_run":1'))");
  const auto replayed = replay(*store);
  ASSERT_FALSE(replayed);
  EXPECT_THAT(replayed.error().message, HasSubstr("tables differ from the journal: the scheduler"));
  db.exec("DELETE FROM journal WHERE sequence = 6");
  EXPECT_THAT(replay(*store).error().message, HasSubstr("step 6 is missing"));
}

TEST(Journal, ReplayBeginsWithTheFirstTuning) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  SchedulerDriver driver;
  core::Tuning tuning;
  tuning.placement = "best-fit";
  driver.batch().first_tuning = core::Tuning{};
  driver.step(core::GpuAdded{testing::model_named("A100-40GB"), {}});
  driver.submit(1);
  driver.step(core::TuningChanged{tuning, *policies::find_policies(tuning)});
  driver.submit(2);
  must(store->commit(driver.take()));
  const auto replayed = replay(*store);
  EXPECT_TRUE(replayed) << replayed.error().message;
}

TEST(Journal, IsCutAtASnapshotAndReplayStillAgrees) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  SchedulerDriver driver;
  run_jobs(*store, driver, 1, 60);
  const std::uint64_t last = store->last_step();
  while (store->apply_retention({.most_steps = 50})->more) {
  }
  EXPECT_EQ(store->counts()->first_step, 0U);  // the only snapshot is the one just written
  EXPECT_EQ(store->last_step(), last);
  ASSERT_TRUE(replay(*store)) << replay(*store).error().message;
  run_jobs(*store, driver, 100, 10);
  EXPECT_GT(store->last_step(), last);
  const auto replayed = replay(*store);
  ASSERT_TRUE(replayed) << replayed.error().message;
  EXPECT_EQ(replayed->first, last + 1);
  // Numbering continues after all steps were deleted and the store was reopened.
  const std::uint64_t end = store->last_step();
  while (store->apply_retention({.most_steps = 0})->more) {
  }
  EXPECT_EQ(store->counts()->first_step, 0U);
  store.reset();
  store = open_at(folder.at("tangram.db"));
  EXPECT_EQ(store->last_step(), end);
  EXPECT_TRUE(replay(*store)) << replay(*store).error().message;
}

TEST(Retention, DeletesOldJobsAndReturnsTheirRuns) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  const WallTime now =
      std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
  Changes changes;
  for (std::uint32_t id = 1; id <= 500; ++id) {
    const bool old = id <= 300;
    changes.jobs.push_back(job_row(id, id != 7, now - std::chrono::hours(old ? 50 : 1)));
    changes.runs.push_back(run_row(id, id));
    changes.moves.push_back({id, "intra", 0, 0, 0, 0, now, now, ""});
  }
  must(store->commit(changes));
  const Retention retention{.jobs = std::chrono::hours(10), .most_jobs = 150};
  int bites = 0;
  std::size_t runs = 0;
  std::size_t jobs = 0;
  for (bool more = true; more; ++bites) {
    const RetentionResult deleted = store->apply_retention(retention).value();
    runs += deleted.runs.size();
    jobs += deleted.jobs.size();
    more = deleted.more;
  }
  EXPECT_GT(bites, 1);
  EXPECT_EQ(runs, 299U + 50U);  // the old ones but 7, then the surplus
  EXPECT_EQ(jobs, runs);
  EXPECT_EQ(store->counts()->jobs, 151U);
  EXPECT_EQ(store->counts()->runs, 151U);
  EXPECT_EQ(store->counts()->moves, 151U);
  EXPECT_EQ(store->load(0)->jobs_over, 499U);
  EXPECT_TRUE(store->job(7)->has_value());
  while (store->apply_retention({.jobs = std::chrono::hours(0), .most_jobs = 0})->more) {
  }
  EXPECT_EQ(store->load(0)->last_job, 500U);
}

// Without a trusted clock nothing is deleted by age, but the limits of counts still apply.
TEST(Retention, DeletesNothingByAgeWithoutATime) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  Changes changes;
  for (std::uint32_t id = 1; id <= 5; ++id) {
    changes.jobs.push_back(job_row(id, true, wall_now() - std::chrono::hours(50)));
    changes.runs.push_back(run_row(id, id));
  }
  must(store->commit(changes));
  const Retention retention{.jobs = std::chrono::hours(10), .most_jobs = 4};
  EXPECT_EQ(store->apply_retention(retention, std::nullopt).value().jobs.size(), 1U);
  EXPECT_EQ(store->counts()->jobs, 4U);
  EXPECT_EQ(store->apply_retention(retention).value().jobs.size(), 4U);
}

TEST(Journal, WritesSnapshotsRegularly) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  SchedulerDriver driver;
  driver.step(core::GpuAdded{testing::model_named("A100-40GB"), {}});
  for (int batch = 0; batch < 45; ++batch) {
    for (int i = 0; i < 1000; ++i) driver.step(core::WakeUp{});
    must(store->commit(driver.take()));
  }
  EXPECT_EQ(store->counts()->snapshots, 3U);  // the initial one and two more
  while (store->apply_retention({.most_steps = 30'000})->more) {
  }
  EXPECT_EQ(store->counts()->snapshots, 2U);
  const auto replayed = replay(*store);
  ASSERT_TRUE(replayed) << replayed.error().message;
  EXPECT_LE(replayed->steps, 30'000U);
  EXPECT_GE(replayed->steps, 20'000U);
}

}  // namespace
}  // namespace tangram::store
