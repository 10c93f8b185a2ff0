// The Syncer: what it does to the log, and what it says when it cannot.
#include "store/syncer.hpp"

#include <fcntl.h>
#include <filesystem>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/test_folder.hpp"
#include "store/log_frames.hpp"
#include "store/parts.hpp"
#include "store/test_body.hpp"

namespace tangram::store {
namespace {

using files::testing::Folder;
using testing::Body;
using ::testing::HasSubstr;

std::unique_ptr<Store> open_at(const std::string& path) {
  auto store = Store::open(path, {});
  EXPECT_TRUE(store) << store.error().message;
  return *std::move(store);
}

std::uintmax_t size_of(const std::string& path) { return std::filesystem::file_size(path); }

// So much of a batch that the log is long after a few.
Changes large(std::uint64_t id) {
  Changes changes;
  JobRow job;
  job.id = id;
  job.request = std::string(4'000'000, 'x');
  changes.jobs.push_back(job);
  return changes;
}

void must(const Result<void>& done) { ASSERT_TRUE(done) << done.error().message; }

// What was before the first time may be on the disk or not: it is written anew. From then on it is
// enough to wait for the disk.
TEST(Syncer, WritesTheLogAnewTheFirstTime) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  auto store = open_at(path);
  ASSERT_TRUE(store->commit(large(1)));
  const std::string before = folder.read("tangram.db-wal");
  std::filesystem::last_write_time(path + "-wal", {});
  Syncer syncer(*store);
  must(syncer.sync());
  EXPECT_NE(std::filesystem::last_write_time(path + "-wal"), std::filesystem::file_time_type{});
  EXPECT_TRUE(folder.read("tangram.db-wal") == before);
  std::filesystem::last_write_time(path + "-wal", {});
  must(syncer.sync());
  EXPECT_EQ(std::filesystem::last_write_time(path + "-wal"), std::filesystem::file_time_type{});
}

TEST(Syncer, KeepsTheLogShort) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  auto store = open_at(path);
  Body body;
  testing::live(*store, body, 1, 2);
  Syncer syncer(*store);
  std::uintmax_t longest = 0;
  for (std::uint64_t id = 1001; id <= 1040; ++id) {
    ASSERT_TRUE(store->commit(large(id)));
    must(syncer.sync());
    must(syncer.shorten_log());
    longest = std::max(longest, size_of(path + "-wal"));
  }
  EXPECT_GT(size_of(path), 120'000'000U);
  EXPECT_LT(longest, 40'000'000U);
  EXPECT_TRUE(store->job(1001)->has_value());
  EXPECT_TRUE(store->job(1040)->has_value());
}

// "Begun anew" is another number in the log's header: then the next commit need not do it.
TEST(Syncer, BeginsTheLogAnewItself) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  auto store = open_at(path);
  const auto salt = [&] { return folder.read("tangram.db-wal").substr(16, 8); };
  Syncer syncer(*store);
  for (std::uint64_t id = 1; id <= 5; ++id) ASSERT_TRUE(store->commit(large(id)));
  must(syncer.sync());
  const std::string before = salt();
  must(syncer.shorten_log());
  const std::string after = salt();
  EXPECT_NE(before, after);
  ASSERT_TRUE(store->commit(large(6)));
  EXPECT_EQ(salt(), after);
}

// Without one the log holds everything, and the next who opens the store finds it.
TEST(Syncer, WhatWasNeverSyncedOutlivesTheProcessAllTheSame) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  auto store = open_at(path);
  for (std::uint64_t id = 1; id <= 10; ++id) ASSERT_TRUE(store->commit(large(id)));
  EXPECT_GT(size_of(path + "-wal"), 30'000'000U);
  const auto other = Store::open(path, {.read_only = true});
  ASSERT_TRUE(other);
  EXPECT_TRUE((*other)->job(10)->has_value());
}

// Somebody who reads an older state, as a backup does, is in nobody's way.
TEST(Syncer, DoesNotWaitForReaders) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  auto store = open_at(path);
  ASSERT_TRUE(store->commit(large(1)));
  SQLite::Database reader(path, SQLite::OPEN_READONLY);
  reader.exec("BEGIN");
  EXPECT_EQ(reader.execAndGet("SELECT count(*) FROM jobs").getInt(), 1);
  ASSERT_TRUE(store->commit(large(2)));
  Syncer syncer(*store);
  must(syncer.sync());
  for (std::uint64_t id = 3; id <= 10; ++id) ASSERT_TRUE(store->commit(large(id)));
  must(syncer.sync());
  must(syncer.shorten_log());
  EXPECT_EQ(reader.execAndGet("SELECT count(*) FROM jobs").getInt(), 1);
  EXPECT_TRUE(store->job(10)->has_value());
}

// What is written into a file without a name is gone when the last who has it open ends.
TEST(Syncer, SaysSoWhenSomebodyHasRemovedTheLog) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  auto store = open_at(path);
  ASSERT_TRUE(store->commit(large(1)));
  Syncer syncer(*store);
  must(syncer.sync());
  std::filesystem::remove(path + "-wal");
  const auto done = syncer.sync();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("was removed by somebody"));
  EXPECT_THAT(done.error().message, HasSubstr(path));
}

// After a failure the kernel may have dropped what the disk did not take, and read old bytes again.
TEST(Syncer, DoesNotTakeOldBytesForWhatWasCommitted) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  auto store = open_at(path);
  ASSERT_TRUE(store->commit(large(1)));
  const int log = ::open((path + "-wal").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(log, 0);
  const auto written = whole_frames(log);
  EXPECT_GT(written, 900U);
  must(Syncer(*store).sync());
  ASSERT_EQ(::pwrite(log, "old", 3, 2'000'000), 3);
  EXPECT_LT(whole_frames(log), written);
  const auto done = Syncer(*store).sync();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("has lost what its log"));
  ASSERT_EQ(::ftruncate(log, 0), 0);
  EXPECT_EQ(whole_frames(log), 0U);
  ::close(log);
}

// Whoever opens the store a second time in the same process must not end the locks of the first:
// a visitor who believes to be the last would remove the log.
TEST(Syncer, TheLogOutlivesVisitors) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  // Another process, begun before this one has the store open, so that it shares nothing with it:
  // it opens the store as any program would, and leaves.
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    char byte = 0;
    sqlite3* db = nullptr;
    const bool good =
        ::read(go[0], &byte, 1) == 1 && sqlite3_open(path.c_str(), &db) == SQLITE_OK &&
        sqlite3_exec(db, "SELECT count(*) FROM jobs", nullptr, nullptr, nullptr) == SQLITE_OK;
    sqlite3_close(db);
    ::_exit(good ? 0 : 1);
  }
  auto store = open_at(path);
  ASSERT_TRUE(store->commit(large(1)));
  {
    const auto reader = Store::open(path, {.read_only = true, .create = false, .check = false});
  }
  ASSERT_EQ(::write(go[1], "x", 1), 1);
  int status = -1;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  ::close(go[0]);
  ::close(go[1]);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::exists(path + "-wal"));
  Syncer syncer(*store);
  must(syncer.sync());
}

}  // namespace
}  // namespace tangram::store
