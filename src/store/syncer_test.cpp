// The Syncer: what it does to the log, and what it says when it cannot.
#include "store/syncer.hpp"

#include <filesystem>

#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/test_folder.hpp"
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

void must(const Result<Synced>& done) {
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->log_trouble, "");
}

// What was before the first time may be on the disk or not: it is written anew, into the store.
TEST(Syncer, BringsInWhatItFinds) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  auto store = open_at(path);
  const auto before = size_of(path);
  ASSERT_TRUE(store->commit(large(1)));
  EXPECT_LT(size_of(path), before + 1'000'000);
  Syncer syncer(*store);
  must(syncer.sync());
  EXPECT_GT(size_of(path), before + 4'000'000);
  // From then on the log is enough.
  ASSERT_TRUE(store->commit(large(2)));
  must(syncer.sync());
  EXPECT_LT(size_of(path), before + 8'000'000);
}

TEST(Syncer, KeepsTheLogShort) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  auto store = open_at(path);
  Syncer syncer(*store);
  std::uintmax_t longest = 0;
  for (std::uint64_t id = 1; id <= 40; ++id) {
    ASSERT_TRUE(store->commit(large(id)));
    must(syncer.sync());
    longest = std::max(longest, size_of(path + "-wal"));
  }
  EXPECT_GT(size_of(path), 120'000'000U);
  EXPECT_LT(longest, 40'000'000U);
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

TEST(Syncer, SaysSoWhenOthersKeepItFromWritingAnew) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  auto store = open_at(path);
  ASSERT_TRUE(store->commit(large(1)));
  SQLite::Database reader(path, SQLite::OPEN_READONLY);
  reader.exec("BEGIN");
  EXPECT_EQ(reader.execAndGet("SELECT count(*) FROM jobs").getInt(), 1);
  ASSERT_TRUE(store->commit(large(2)));
  Syncer syncer(*store);
  const auto done = syncer.sync();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("others read it"));
  reader.exec("COMMIT");
  must(syncer.sync());
  EXPECT_GT(size_of(path), 8'000'000U);
}

TEST(Syncer, SaysSoWhenThereIsNoLog) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  auto store = open_at(path);
  ASSERT_TRUE(store->commit(large(1)));
  Syncer syncer(*store);
  must(syncer.sync());
  std::filesystem::remove(path + "-wal");
  const auto done = syncer.sync();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("No such file or directory"));
  EXPECT_THAT(done.error().message, HasSubstr(path));
}

}  // namespace
}  // namespace tangram::store
