// The store: commits are loaded completely, failures leave no trace, and journal and tables agree.
#include "store/store.hpp"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/replay.hpp"
#include "store/store_impl.hpp"
#include "tests/support/os/folder.hpp"
#include "tests/support/store/scheduler_driver.hpp"

namespace tangram::store {
namespace {

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

// A batch in which every member of every row has a non-default value.
JobRow full_job(std::uint64_t id) {
  return {.id = id,
          .uid = 0xFFFF'FFFEU,
          .user = "ada",
          .kind = "lease",
          .request = R"({"command":["\u0000"]})",
          .name = "näme",
          .profile = "1g.5gb",
          .state = "running",
          .over = false,
          .reason = "because",
          .gpu = 0,
          .start = 6,
          .mig_uuid = "MIG-1",
          .port = 65'535,
          .run = 3,
          .exit_code = -1,
          .exit_signal = 9,
          .restarts = 2,
          .submitted = wall(1),
          .started = wall(2),
          .ended = wall(-3),
          .placed = 17};
}
RunRow full_run(std::uint32_t run, std::uint64_t job) {
  return {.run = run,
          .job = job,
          .gpu = 1,
          .instance = 2,
          .start = 3,
          .profile = "1g.5gb",
          .mig_uuid = "MIG-2",
          .port = 0,
          .boot = "boot",
          .over = true,
          .stop_asked = true,
          .exit_code = 0,
          .exit_signal = 0,
          .reason = "done",
          .asked = wall(4),
          .started = wall(5),
          .ended = wall(6)};
}

std::string text(const JobRow& r) {
  std::ostringstream out;
  const auto opt = [](const auto& x) { return x ? std::to_string(*x) : std::string("-"); };
  const auto when = [](const std::optional<WallTime>& t) {
    return t ? std::to_string(t->time_since_epoch().count()) : std::string("-");
  };
  out << r.id << '|' << r.uid << '|' << r.user << '|' << r.request << '|' << r.name << '|'
      << r.profile << '|' << r.state << '|' << r.over << '|' << r.reason << '|' << opt(r.gpu) << '|'
      << opt(r.start) << '|' << r.mig_uuid << '|' << opt(r.port) << '|' << opt(r.run) << '|'
      << opt(r.exit_code) << '|' << opt(r.exit_signal) << '|' << r.restarts << '|'
      << when(r.submitted) << '|' << when(r.started) << '|' << when(r.ended) << '|' << r.kind << '|'
      << opt(r.placed);
  return out.str();
}
std::string text(const RunRow& r) {
  std::ostringstream out;
  const auto opt = [](const auto& x) { return x ? std::to_string(*x) : std::string("-"); };
  const auto when = [](const std::optional<WallTime>& t) {
    return t ? std::to_string(t->time_since_epoch().count()) : std::string("-");
  };
  out << r.run << '|' << r.job << '|' << r.gpu << '|' << r.instance << '|' << r.start << '|'
      << r.profile << '|' << r.mig_uuid << '|' << opt(r.port) << '|' << r.boot << '|' << r.over
      << '|' << r.stop_asked << '|' << opt(r.exit_code) << '|' << opt(r.exit_signal) << '|'
      << r.reason << '|' << when(r.asked) << '|' << when(r.started) << '|' << when(r.ended);
  return out.str();
}

TEST(Store, IsFreshWhenCreated) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  const auto contents = store->load(10);
  ASSERT_TRUE(contents) << contents.error().message;
  EXPECT_TRUE(contents->fresh);
  EXPECT_EQ(contents->last_job, 0U);
  EXPECT_EQ(store->last_step(), 0U);
}

TEST(Store, LoadsEveryRow) {
  const Folder folder;
  {
    auto store = open_at(folder.at("tangram.db"));
    Changes changes;
    changes.jobs = {full_job(7), job_row(8)};
    changes.runs = {full_run(3, 7), run_row(4, 8)};
    changes.gpus = {{0, "GPU-a", "A100"}, {1, "GPU-b", ""}};
    changes.instances = {{5, 0, "1g.5gb", 6, "MIG-5", wall(9)}, {6, 1, "", 0, "", {}}};
    changes.moves = {{7, "intra", 0, 1, 2, 3, wall(10), wall(11), "done"},
                     {7, "inter", 4, 5, 6, 7, wall(12), std::nullopt, ""}};
    changes.facts = {{"boot", "b1"}, {"node", ""}};
    must(store->commit(changes));
  }
  auto store = open_at(folder.at("tangram.db"));
  const auto contents = store->load(10);
  ASSERT_TRUE(contents) << contents.error().message;
  EXPECT_FALSE(contents->fresh);
  ASSERT_EQ(contents->jobs.size(), 2U);
  JobRow listed = full_job(7);
  listed.request.clear();  // not included in lists
  EXPECT_EQ(text(contents->jobs[0]), text(listed));
  EXPECT_EQ(text(contents->jobs[1]), text(job_row(8)));
  ASSERT_EQ(contents->runs.size(), 2U);
  EXPECT_EQ(text(contents->runs[0]), text(full_run(3, 7)));
  EXPECT_EQ(text(contents->runs[1]), text(run_row(4, 8)));
  ASSERT_EQ(contents->gpus.size(), 2U);
  EXPECT_EQ(contents->gpus[0].uuid + contents->gpus[0].name, "GPU-aA100");
  ASSERT_EQ(contents->instances.size(), 2U);
  EXPECT_EQ(contents->instances[0].mig_uuid, "MIG-5");
  EXPECT_EQ(contents->instances[0].created, wall(9));
  ASSERT_EQ(contents->moves.size(), 2U);
  EXPECT_EQ(contents->moves[0].result, "done");
  EXPECT_EQ(contents->moves[1].ended, std::nullopt);
  EXPECT_EQ(contents->moves[1].to_start, 7U);
  EXPECT_EQ(contents->facts.at("boot"), "b1");
  EXPECT_EQ(contents->last_job, 8U);
}

TEST(Store, ReplacesRowsOfTheSameKey) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  Changes changes;
  changes.jobs = {full_job(7)};
  changes.runs = {full_run(3, 7)};
  changes.instances = {{5, 0, "1g.5gb", 6, "MIG-5", wall(9)}};
  changes.moves = {{7, "intra", 0, 1, 2, 3, wall(10), std::nullopt, ""}};
  must(store->commit(changes));
  JobRow later = full_job(7);
  later.request.clear();  // unchanged in the store
  later.state = "stopping";
  later.gpu.reset();
  Changes more;
  more.jobs = {later};
  more.instances_gone = {5, 99};
  more.moves = {{7, "intra", 0, 1, 2, 3, wall(10), wall(20), "done"}};
  must(store->commit(more));
  const auto contents = store->load(0);
  ASSERT_TRUE(contents);
  EXPECT_EQ(text(contents->jobs.at(0)), text(later));
  const auto whole = store->job(7);
  ASSERT_TRUE(whole && *whole);
  EXPECT_EQ((*whole)->request, full_job(7).request);
  EXPECT_EQ(contents->runs.size(), 1U);  // untouched by the change of its job
  EXPECT_TRUE(contents->instances.empty());
  ASSERT_EQ(contents->moves.size(), 1U);
  EXPECT_EQ(contents->moves[0].result, "done");
}

TEST(Store, LoadsTheNewestFinishedJobs) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  Changes changes;
  for (std::uint64_t id = 1; id <= 10; ++id) {
    changes.jobs.push_back(job_row(id, id != 2, wall(1)));
    changes.runs.push_back(run_row(static_cast<std::uint32_t>(id), id));
  }
  must(store->commit(changes));
  const auto contents = store->load(3);
  ASSERT_TRUE(contents);
  std::vector<std::uint64_t> ids;
  for (const JobRow& job : contents->jobs) ids.push_back(job.id);
  EXPECT_THAT(ids, ElementsAre(2, 8, 9, 10));
  EXPECT_EQ(contents->runs.size(), 4U);
  EXPECT_EQ(contents->jobs_over, 9U);
  const auto past = store->finished_jobs(8, 2);
  ASSERT_TRUE(past);
  ASSERT_EQ(past->size(), 2U);
  EXPECT_EQ((*past)[0].id, 7U);
  EXPECT_EQ((*past)[1].id, 6U);
  EXPECT_EQ(store->job(5)->value().id, 5U);
  EXPECT_FALSE(store->job(11)->has_value());
  EXPECT_EQ(store->runs(5)->at(0).run, 5U);
  const auto all = store->finished_jobs(~std::uint64_t{0}, 100);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), 9U);
}

// A service that moves all the time must not grow without bound in the store.
TEST(Store, DeletesOldRunsOfAnActiveJob) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  const auto now = std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
  Changes changes;
  changes.jobs.push_back(job_row(7));
  // The job is on its first run; every other one belonged to a move that was rolled back.
  for (std::uint32_t i = 1; i <= 350; ++i) {
    RunRow run = run_row(i, 7);
    run.over = i > 1;
    if (run.over) run.ended = now - std::chrono::hours(i <= 50 ? 1000 : 1);
    changes.runs.push_back(run);
    MoveRow move;
    move.job = 7;
    move.begun = wall(i);
    move.ended = wall(i);
    move.run = i;
    move.reason = "why";
    changes.moves.push_back(move);
  }
  must(store->commit(changes));
  RetentionResult deleted;
  do {
    const RetentionResult batch = store->apply_retention({}).value();
    deleted.runs.insert(deleted.runs.end(), batch.runs.begin(), batch.runs.end());
    deleted.jobs.insert(deleted.jobs.end(), batch.jobs.begin(), batch.jobs.end());
    deleted.more = batch.more;
  } while (deleted.more);
  EXPECT_EQ(deleted.runs.size(), 349U - kMaxRunsKept);
  EXPECT_EQ(std::ranges::count(deleted.runs, 1U), 0);
  EXPECT_TRUE(deleted.jobs.empty());  // it is active
  // Usage is counted from runs, which are kept as long as finished jobs.
  EXPECT_EQ(store->counts()->runs, 350U - 49U);
  EXPECT_EQ(store->counts()->moves, kMaxRunsKept + 1);
  const auto runs = store->runs(7);
  ASSERT_TRUE(runs);
  ASSERT_EQ(runs->size(), kMaxRunsKept);
  EXPECT_EQ(runs->front().run, 1U);
  EXPECT_EQ(runs->back().run, 350U);
  const auto moves = store->moves(7);
  ASSERT_TRUE(moves);
  ASSERT_EQ(moves->size(), kMaxRunsKept);
  EXPECT_EQ(moves->front().run, 1U);
  EXPECT_EQ(moves->back().reason, "why");
  const auto contents = store->load(0);
  ASSERT_TRUE(contents);
  EXPECT_EQ(contents->runs.size(), kMaxRunsKept);
  const RetentionResult again = store->apply_retention({}).value();
  EXPECT_FALSE(again.more);
  EXPECT_TRUE(again.runs.empty());
}

TEST(Store, LoadsTheSchedulerAndTheJournalAgrees) {
  const Folder folder;
  SchedulerDriver driver;
  {
    auto store = open_at(folder.at("tangram.db"));
    run_jobs(*store, driver, 1, 40);
    const auto replayed = replay(*store);
    ASSERT_TRUE(replayed) << replayed.error().message;
    EXPECT_EQ(replayed->first, 1U);
    EXPECT_EQ(replayed->last, store->last_step());
    EXPECT_EQ(replayed->steps, store->last_step());
  }
  auto store = open_at(folder.at("tangram.db"));
  const auto contents = store->load(0);
  ASSERT_TRUE(contents) << contents.error().message;
  EXPECT_EQ(contents->scheduler, driver.scheduler().save());
  // A scheduler that resumes from it continues as the first one would.
  SchedulerDriver restored(*contents);
  run_jobs(*store, restored, 100, 20);
  const auto replayed = replay(*store);
  EXPECT_TRUE(replayed) << replayed.error().message;
}

// After any failure of a commit the store is unchanged and accepts the next one.
TEST(Store, AFullDiskLeavesItUnchanged) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  SchedulerDriver driver;
  run_jobs(*store, driver, 1, 10);
  const core::Saved before = *store->scheduler();
  const std::uint64_t last = store->last_step();
  store.reset();
  {
    auto impl = open_impl(folder.at("tangram.db"), {}, current_schema());
    ASSERT_TRUE(impl);
    const auto pages = (*impl)->db.execAndGet("PRAGMA page_count").getInt64();
    (*impl)->db.exec("PRAGMA max_page_count = " + std::to_string(pages + 1));
    Store small(*std::move(impl));
    Changes large;
    large.jobs.push_back(job_row(999));
    large.jobs[0].request = std::string(1'000'000, 'x');
    const auto done = small.commit(large);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(done.error().message, HasSubstr("the disk is full"));
    EXPECT_EQ(*small.scheduler(), before);
    EXPECT_EQ(small.last_step(), last);
    EXPECT_FALSE(small.job(999)->has_value());
    Changes next;
    next.scheduler.rest = before.rest;
    next.facts = {{"a", "b"}};
    must(small.commit(next));
  }
  store = open_at(folder.at("tangram.db"));
  EXPECT_EQ(store->load(0)->facts.at("a"), "b");
  EXPECT_TRUE(replay(*store)) << replay(*store).error().message;
}

TEST(Store, ARowWithoutItsJobFailsAndIsRolledBack) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  Changes orphan;
  orphan.steps.emplace_back().event = core::WakeUp{};
  orphan.runs.push_back(run_row(1, 77));
  const auto done = store->commit(orphan);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("FOREIGN KEY"));
  EXPECT_EQ(store->last_step(), 0U);
  EXPECT_TRUE(store->load(0)->fresh);
  must(store->commit({}));
}

TEST(Store, SavedStateThatCannotBeReadIsAnError) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  SchedulerDriver driver;
  run_jobs(*store, driver, 1, 10);
  SQLite::Database db(folder.at("tangram.db"), SQLite::OPEN_READWRITE);
  db.exec("UPDATE saved_jobs SET state = substr(state, 1, 20)");
  const auto contents = store->load(0);
  ASSERT_FALSE(contents);
  EXPECT_THAT(contents.error().message, HasSubstr("tangram store restore"));
}

// Active jobs need their whole request; of finished ones it must not fill the disk.
TEST(Store, LargeRequestsAreShortenedWhenTheirJobsEnd) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  const auto request = [](std::size_t environment, std::size_t command) {
    return R"({"command":[")" + std::string(command, 'c') + R"("],"environment":{"A":")" +
           std::string(environment, 'e') + R"("},"name":"n"})";
  };
  Changes changes;
  for (const std::uint64_t id : {1U, 2U, 3U, 4U}) changes.jobs.push_back(testing::job_row(id));
  changes.jobs[0].request = request(1000, 1);
  changes.jobs[1].request = request(100'000, 1);
  changes.jobs[2].request = request(100'000, 100'000);
  changes.jobs[3].request = std::string(100'000, 'x');
  must(store->commit(changes));
  EXPECT_EQ((*store->job(3))->request, request(100'000, 100'000));
  EXPECT_EQ(store->request_sizes()->at(2), request(100'000, 1).size());
  Changes ends;
  for (const std::uint64_t id : {1U, 2U, 3U, 4U}) ends.jobs.push_back(testing::job_row(id, true));
  must(store->commit(ends));
  EXPECT_EQ((*store->job(1))->request, request(1000, 1));
  const std::string without_environment = "{\"command\":[\"c\"],\"name\":\"n\"}";
  const std::string without_command = "{\"command\":[\"(too large)\"],\"name\":\"n\"}";
  EXPECT_EQ((*store->job(2))->request, without_environment);
  EXPECT_EQ((*store->job(3))->request, without_command);
  EXPECT_EQ((*store->job(4))->request.size(), 100'000U);  // not ours: never shortened
  EXPECT_TRUE(store->request_sizes()->empty());
}

TEST(Store, ListsTheRunsThatHaveEnded) {
  const Folder folder;
  auto store = open_at(folder.at("tangram.db"));
  Changes changes;
  changes.jobs = {testing::job_row(1)};
  changes.jobs[0].uid = 7;
  changes.runs = {testing::run_row(1, 1), testing::run_row(2, 1)};
  changes.runs[0].over = true;
  changes.runs[0].asked = testing::wall(5);
  must(store->commit(changes));
  const auto runs = store->ended_runs();
  ASSERT_EQ(runs->size(), 1U);
  EXPECT_EQ(runs->front().run, 1U);
  EXPECT_EQ(runs->front().uid, 7U);
  EXPECT_EQ(runs->front().asked, testing::wall(5));
}

}  // namespace
}  // namespace tangram::store
