// Migration of a version 1 store with rows: nothing is lost, and it can be used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/replay.hpp"
#include "store/store_impl.hpp"
#include "tests/support/os/folder.hpp"
#include "tests/support/store/scheduler_driver.hpp"

namespace tangram::store {
namespace {

using os::testing::Folder;
using testing::must;
using testing::open_at;
using testing::run_jobs;
using testing::SchedulerDriver;

// Creates a store as a daemon of version 1 would have left it.
void copy_as_version_1(const std::string& from, const std::string& to) {
  must(create_store(to, {.version = 1, .sql = kSchemaVersion1, .migrations = {}}));
  SQLite::Database db(to, SQLite::OPEN_READWRITE);
  db.exec("ATTACH '" + from + "' AS now");
  db.exec(
      "INSERT INTO jobs SELECT id, uid, user, name, profile, state, over, reason, gpu, start, "
      "mig_uuid, port, run, exit_code, exit_signal, restarts, submitted, started, ended "
      "FROM now.jobs");
  db.exec(
      "INSERT INTO moves SELECT job, begun, kind, from_gpu, from_start, to_gpu, to_start, ended, "
      "result FROM now.moves");
  db.exec(
      "INSERT INTO runs SELECT run, job, gpu, instance, start, profile, mig_uuid, port, boot, "
      "over, "
      "stop_asked, exit_code, exit_signal, reason, asked, started, ended FROM now.runs");
  for (const char* table :
       {"requests", "gpus", "instances", "journal", "models", "saved_rest", "saved_gpus",
        "saved_jobs", "snapshots", "snapshot_gpus", "snapshot_jobs", "facts"}) {
    db.exec(std::string("INSERT INTO main.") + table + " SELECT * FROM now." + table);
  }
}

TEST(Migration, AStoreOfVersion1CanBeUsed) {
  const Folder folder;
  SchedulerDriver driver;
  std::uint64_t last = 0;
  {
    auto store = open_at(folder.at("now.db"));
    run_jobs(*store, driver, 1, 12);
    JobRow service = testing::job_row(4);
    service.request = R"({"kind":"service","command":["true"],"movable":true,"labels":{"a":"b"}})";
    JobRow odd = testing::job_row(5);
    odd.request = "no JSON at all";
    driver.batch().jobs = {service, odd};
    must(store->commit(driver.take()));
    last = store->last_step();
  }
  const std::string path = folder.at("tangram.db");
  copy_as_version_1(folder.at("now.db"), path);
  {
    SQLite::Database db(path, SQLite::OPEN_READWRITE);
    db.exec("UPDATE forgotten SET jobs = 1; UPDATE jobs SET over = 1, ended = 777 WHERE id = 5");
  }
  {
    auto store = open_at(path);
    EXPECT_EQ(store->counts()->version, 7);
    // The usage of jobs that version 1 deleted is unknown.
    const auto usage = store->usage(WallTime{}, testing::wall(1'000'000'000), std::nullopt);
    EXPECT_EQ(usage.value().from, testing::wall(777));
    EXPECT_EQ((*store->job(4))->request,
              R"({"kind":"service","command":["true"],"labels":{"a":"b"},)"
              R"("move":{"way":"replica"},"endpoint":{"mode":"none"}})");
    EXPECT_EQ((*store->job(4))->labels, R"({"a":"b"})");
    EXPECT_EQ((*store->job(5))->labels, "");
    EXPECT_EQ((*store->job(6))->labels, "");
    EXPECT_EQ((*store->job(5))->request, "no JSON at all");
    EXPECT_EQ(store->last_step(), last);
    EXPECT_EQ(store->last_event(), 0U);
    EXPECT_EQ((*store->job(4))->kind, "service");
    EXPECT_EQ((*store->job(5))->kind, "batch");
    EXPECT_EQ((*store->job(6))->kind, "batch");
    EXPECT_FALSE((*store->job(6))->placed);
    const auto replayed = replay(*store);
    ASSERT_TRUE(replayed) << replayed.error().message;
    run_jobs(*store, driver, 100, 6);
  }
  auto store = open_at(path, {.read_only = true});
  EXPECT_GT(store->last_step(), last);
  EXPECT_TRUE(replay(*store));
}

// New and migrated stores have the same tables.
TEST(Migration, GivesTheTablesOfANewStore) {
  const Folder folder;
  must(create_store(folder.at("old.db"), {.version = 1, .sql = kSchemaVersion1, .migrations = {}}));
  open_at(folder.at("old.db"));
  open_at(folder.at("new.db"));
  const auto tables = [&](const char* name) {
    SQLite::Database db(folder.at(name), SQLite::OPEN_READONLY);
    SQLite::Statement query(db, "SELECT sql FROM sqlite_schema ORDER BY name");
    std::vector<std::string> all;
    while (query.executeStep()) all.push_back(query.getColumn(0).getString());
    return all;
  };
  EXPECT_EQ(tables("old.db"), tables("new.db"));
  EXPECT_GT(tables("new.db").size(), 20U);
}

}  // namespace
}  // namespace tangram::store
