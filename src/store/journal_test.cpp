// The journal: numbered without gaps, decided again as it was, cut only behind a snapshot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/test_folder.hpp"
#include "store/parts.hpp"
#include "store/replay.hpp"
#include "store/test_body.hpp"

namespace tangram::store {
namespace {

using files::testing::Folder;
using testing::Body;
using ::testing::HasSubstr;
using testing::job_row;
using testing::live;
using testing::must;
using testing::open_at;
using testing::run_row;

TEST(Journal, NumbersStepsWithoutGaps) {
  const Folder folder;
  Body body;
  {
    auto store = open_at(folder.at("tangram.db"));
    live(*store, body, 1, 10);
  }
  auto store = open_at(folder.at("tangram.db"));
  live(*store, body, 50, 10);
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
  Body body;
  live(*store, body, 1, 10);
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
  Body body;
  live(*store, body, 1, 10);
  SQLite::Database db(folder.at("tangram.db"), SQLite::OPEN_READWRITE);
  db.exec("UPDATE saved_rest SET state = replace(state, '\"next_run\":', '\"next_run\":1')");
  const auto replayed = replay(*store);
  ASSERT_FALSE(replayed);
  EXPECT_THAT(replayed.error().message, HasSubstr("tables differ from the journal: the scheduler"));
  db.exec("DELETE FROM journal WHERE sequence = 6");
  EXPECT_THAT(replay(*store).error().message, HasSubstr("step 6 is missing"));
}

TEST(Journal, ReplayBeginsWithTheFirstTuning) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  Body body;
  core::Tuning tuning;
  tuning.placement = "best-fit";
  body.batch().first_tuning = core::Tuning{};
  body.step(core::GpuAdded{testing::model_named("A100-40GB"), {}});
  body.submit(1);
  body.step(core::TuningChanged{tuning, *policies::find_policies(tuning)});
  body.submit(2);
  must(store->commit(body.take()));
  const auto replayed = replay(*store);
  EXPECT_TRUE(replayed) << replayed.error().message;
}

TEST(Journal, TrimCutsBehindASnapshotAndReplayStillAgrees) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  Body body;
  live(*store, body, 1, 60);
  const std::uint64_t last = store->last_step();
  while (store->trim({.most_steps = 50})->more) {
  }
  EXPECT_EQ(store->counts()->first_step, 0U);  // there was no snapshot but the one just taken
  EXPECT_EQ(store->last_step(), last);
  ASSERT_TRUE(replay(*store)) << replay(*store).error().message;
  live(*store, body, 100, 10);
  EXPECT_GT(store->last_step(), last);
  const auto replayed = replay(*store);
  ASSERT_TRUE(replayed) << replayed.error().message;
  EXPECT_EQ(replayed->first, last + 1);
  // The numbers go on when all steps are gone and the store is opened anew.
  const std::uint64_t end = store->last_step();
  while (store->trim({.most_steps = 0})->more) {
  }
  EXPECT_EQ(store->counts()->first_step, 0U);
  store.reset();
  store = open_at(folder.at("tangram.db"));
  EXPECT_EQ(store->last_step(), end);
  EXPECT_TRUE(replay(*store)) << replay(*store).error().message;
}

TEST(Journal, TrimForgetsOldJobsAndTellsTheirRuns) {
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
    const Trimmed gone = store->trim(retention).value();
    runs += gone.runs.size();
    jobs += gone.jobs.size();
    more = gone.more;
  }
  EXPECT_GT(bites, 1);
  EXPECT_EQ(runs, 299U + 50U);  // the old ones but 7, then the surplus
  EXPECT_EQ(jobs, runs);
  EXPECT_EQ(store->counts()->jobs, 151U);
  EXPECT_EQ(store->counts()->runs, 151U);
  EXPECT_EQ(store->counts()->moves, 151U);
  EXPECT_EQ(store->load(0)->jobs_over, 499U);
  EXPECT_TRUE(store->job(7)->has_value());
  while (store->trim({.jobs = std::chrono::hours(0), .most_jobs = 0})->more) {
  }
  EXPECT_EQ(store->load(0)->last_job, 500U);
}

// Where nobody knows what time it is, nothing is too old; too many are too many all the same.
TEST(Journal, TrimForgetsNothingByAgeWithoutATime) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  Changes changes;
  for (std::uint32_t id = 1; id <= 5; ++id) {
    changes.jobs.push_back(job_row(id, true, wall_now() - std::chrono::hours(50)));
    changes.runs.push_back(run_row(id, id));
  }
  must(store->commit(changes));
  const Retention retention{.jobs = std::chrono::hours(10), .most_jobs = 4};
  EXPECT_EQ(store->trim(retention, std::nullopt).value().jobs.size(), 1U);
  EXPECT_EQ(store->counts()->jobs, 4U);
  EXPECT_EQ(store->trim(retention).value().jobs.size(), 4U);
}

TEST(Journal, TakesSnapshotsAsItGoes) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  Body body;
  body.step(core::GpuAdded{testing::model_named("A100-40GB"), {}});
  for (int batch = 0; batch < 45; ++batch) {
    for (int i = 0; i < 1000; ++i) body.step(core::WakeUp{});
    must(store->commit(body.take()));
  }
  EXPECT_EQ(store->counts()->snapshots, 3U);  // the beginning, and two
  while (store->trim({.most_steps = 30'000})->more) {
  }
  EXPECT_EQ(store->counts()->snapshots, 2U);
  const auto replayed = replay(*store);
  ASSERT_TRUE(replayed) << replayed.error().message;
  EXPECT_LE(replayed->steps, 30'000U);
  EXPECT_GE(replayed->steps, 20'000U);
}

}  // namespace
}  // namespace tangram::store
