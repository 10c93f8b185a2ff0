// A store of the first version, with rows, brought forward: nothing of it is lost, and it goes on.
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
using testing::live;
using testing::must;
using testing::open_at;

// What a daemon of the first version would have left: the same rows in its tables.
void copy_as_version_1(const std::string& from, const std::string& to) {
  must(make_store(to, {.version = 1, .sql = kSchemaVersion1, .migrations = {}}));
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

TEST(Migration, AStoreOfTheFirstVersionGoesOn) {
  const Folder folder;
  Body body;
  std::uint64_t last = 0;
  {
    auto store = open_at(folder.at("now.db"));
    live(*store, body, 1, 12);
    JobRow service = testing::job_row(4);
    service.request = R"({"kind":"service","command":["true"],"movable":true,"labels":{"a":"b"}})";
    JobRow odd = testing::job_row(5);
    odd.request = "no JSON at all";
    body.batch().jobs = {service, odd};
    must(store->commit(body.take()));
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
    EXPECT_EQ(store->counts()->version, 4);
    // Nobody knows what the job used that was forgotten before.
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
    live(*store, body, 100, 6);
  }
  auto store = open_at(path, {.read_only = true});
  EXPECT_GT(store->last_step(), last);
  EXPECT_TRUE(replay(*store));
}

// Made at once or brought forward, the tables are the same.
TEST(Migration, MakesWhatANewStoreHas) {
  const Folder folder;
  must(make_store(folder.at("old.db"), {.version = 1, .sql = kSchemaVersion1, .migrations = {}}));
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
