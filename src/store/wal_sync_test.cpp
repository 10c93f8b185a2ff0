// WalSync: syncing, checkpoints and errors.
#include "store/wal_sync.hpp"

#include <fcntl.h>
#include <filesystem>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/store_impl.hpp"
#include "store/wal_frames.hpp"
#include "tests/support/os/folder.hpp"
#include "tests/support/store/scheduler_driver.hpp"

namespace tangram::store {
namespace {

using os::testing::Folder;
using ::testing::HasSubstr;
using testing::SchedulerDriver;

std::unique_ptr<Store> open_at(const std::string& path) {
  auto store = Store::open(path, {});
  EXPECT_TRUE(store) << store.error().message;
  return *std::move(store);
}

std::uintmax_t size_of(const std::string& path) { return std::filesystem::file_size(path); }

// A batch large enough that the WAL needs a checkpoint after a few.
Changes large(std::uint64_t id) {
  Changes changes;
  JobRow job;
  job.id = id;
  job.request = std::string(4'000'000, 'x');
  changes.jobs.push_back(job);
  return changes;
}

void must(const Result<void>& done) { ASSERT_TRUE(done) << done.error().message; }

// The first sync rewrites the WAL, because earlier data may not be durable. Later ones only sync.
TEST(WalSync, RewritesTheWalTheFirstTime) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  auto store = open_at(path);
  ASSERT_TRUE(store->commit(large(1)));
  const std::string before = folder.read("tangram.db-wal");
  std::filesystem::last_write_time(path + "-wal", {});
  WalSync wal_sync(*store);
  must(wal_sync.sync());
  EXPECT_NE(std::filesystem::last_write_time(path + "-wal"), std::filesystem::file_time_type{});
  EXPECT_TRUE(folder.read("tangram.db-wal") == before);
  std::filesystem::last_write_time(path + "-wal", {});
  must(wal_sync.sync());
  EXPECT_EQ(std::filesystem::last_write_time(path + "-wal"), std::filesystem::file_time_type{});
}

TEST(WalSync, KeepsTheWalShort) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  auto store = open_at(path);
  SchedulerDriver driver;
  testing::run_jobs(*store, driver, 1, 2);
  WalSync wal_sync(*store);
  std::uintmax_t longest = 0;
  for (std::uint64_t id = 1001; id <= 1040; ++id) {
    ASSERT_TRUE(store->commit(large(id)));
    must(wal_sync.sync());
    must(wal_sync.checkpoint());
    longest = std::max(longest, size_of(path + "-wal"));
  }
  EXPECT_GT(size_of(path), 120'000'000U);
  EXPECT_LT(longest, 40'000'000U);
  EXPECT_TRUE(store->job(1001)->has_value());
  EXPECT_TRUE(store->job(1040)->has_value());
}

// A restarted WAL has a new salt in its header; the next commit then need not restart it.
TEST(WalSync, RestartsTheWalItself) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  auto store = open_at(path);
  const auto salt = [&] { return folder.read("tangram.db-wal").substr(16, 8); };
  WalSync wal_sync(*store);
  for (std::uint64_t id = 1; id <= 5; ++id) ASSERT_TRUE(store->commit(large(id)));
  must(wal_sync.sync());
  const std::string before = salt();
  must(wal_sync.checkpoint());
  const std::string after = salt();
  EXPECT_NE(before, after);
  ASSERT_TRUE(store->commit(large(6)));
  EXPECT_EQ(salt(), after);
}

// Without WalSync everything is in the WAL, and the next process that opens the store finds it.
TEST(WalSync, UnsyncedCommitsSurviveTheProcess) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  auto store = open_at(path);
  for (std::uint64_t id = 1; id <= 10; ++id) ASSERT_TRUE(store->commit(large(id)));
  EXPECT_GT(size_of(path + "-wal"), 30'000'000U);
  const auto other = Store::open(path, {.read_only = true});
  ASSERT_TRUE(other);
  EXPECT_TRUE((*other)->job(10)->has_value());
}

// A reader of an older state, e.g. a backup, blocks neither sync nor checkpoint.
TEST(WalSync, DoesNotWaitForReaders) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  auto store = open_at(path);
  ASSERT_TRUE(store->commit(large(1)));
  SQLite::Database reader(path, SQLite::OPEN_READONLY);
  reader.exec("BEGIN");
  EXPECT_EQ(reader.execAndGet("SELECT count(*) FROM jobs").getInt(), 1);
  ASSERT_TRUE(store->commit(large(2)));
  WalSync wal_sync(*store);
  must(wal_sync.sync());
  for (std::uint64_t id = 3; id <= 10; ++id) ASSERT_TRUE(store->commit(large(id)));
  must(wal_sync.sync());
  must(wal_sync.checkpoint());
  EXPECT_EQ(reader.execAndGet("SELECT count(*) FROM jobs").getInt(), 1);
  EXPECT_TRUE(store->job(10)->has_value());
}

// Data in a removed file is lost when the last process that has it open ends.
TEST(WalSync, ReportsThatTheWalWasRemoved) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  auto store = open_at(path);
  ASSERT_TRUE(store->commit(large(1)));
  WalSync wal_sync(*store);
  must(wal_sync.sync());
  std::filesystem::remove(path + "-wal");
  const auto done = wal_sync.sync();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("was removed; restart tangramd"));
  EXPECT_THAT(done.error().message, HasSubstr(path));
}

// After a failed write the kernel may drop the dirty pages and read old data again.
TEST(WalSync, DetectsThatTheWalHasLostData) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  auto store = open_at(path);
  ASSERT_TRUE(store->commit(large(1)));
  const int log = ::open((path + "-wal").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(log, 0);
  const auto written = count_valid_frames(log);
  EXPECT_GT(written, 900U);
  must(WalSync(*store).sync());
  ASSERT_EQ(::pwrite(log, "old", 3, 2'000'000), 3);
  EXPECT_LT(count_valid_frames(log), written);
  const auto done = WalSync(*store).sync();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("its log (-wal) has lost data"));
  ASSERT_EQ(::ftruncate(log, 0), 0);
  EXPECT_EQ(count_valid_frames(log), 0U);
  ::close(log);
}

// Opening the store a second time in the same process must not release the locks of the first:
// otherwise another program that closes the store would believe to be the last and remove the WAL.
TEST(WalSync, TheWalSurvivesOtherReaders) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  // Another process, forked before this one opens the store so that they share no descriptors. It
  // opens the store as any program would, and closes it.
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
  WalSync wal_sync(*store);
  must(wal_sync.sync());
}

}  // namespace
}  // namespace tangram::store
