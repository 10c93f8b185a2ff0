// Opening stores with problems: the message says what is wrong and what to do, and nothing is
// changed. Also backup and restore.
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "store/backup.hpp"
#include "store/replay.hpp"
#include "store/store_impl.hpp"
#include "tests/support/os/folder.hpp"
#include "tests/support/store/scheduler_driver.hpp"

namespace tangram::store {
namespace {

using os::testing::Folder;
using ::testing::AllOf;
using ::testing::HasSubstr;

const int kOurs = current_schema().version;

std::string why_not(const std::string& path, const OpenOptions& options = {}) {
  const auto store = Store::open(path, options);
  return store ? "it opened" : store.error().message;
}

void make(const std::string& path) {
  auto store = Store::open(path, {});
  ASSERT_TRUE(store) << store.error().message;
  testing::SchedulerDriver driver;
  driver.step(core::GpuAdded{testing::model_named("A100-40GB"), {}});
  for (std::uint64_t id = 1; id <= 50; ++id) driver.submit(id);
  const auto done = (*store)->commit(driver.take());
  ASSERT_TRUE(done) << done.error().message;
}

TEST(OpenStore, NamesAMissingFolder) {
  const Folder folder;
  EXPECT_THAT(why_not(folder.at("none/tangram.db")),
              AllOf(HasSubstr("there is no folder"), HasSubstr("none")));
}

TEST(OpenStore, CreatesNoneUnlessRequested) {
  const Folder folder;
  EXPECT_THAT(why_not(folder.at("a"), {.read_only = true}), HasSubstr("not found"));
  EXPECT_THAT(why_not(folder.at("a"), {.create = false}), HasSubstr("not found"));
  EXPECT_FALSE(folder.has("a"));
}

TEST(OpenStore, RejectsOtherFiles) {
  const Folder folder;
  EXPECT_THAT(why_not(folder.write("empty", "")), HasSubstr("is an empty file"));
  EXPECT_THAT(why_not(folder.write("text", "Dear diary, today I was not a database.")),
              HasSubstr("is not a database"));
  EXPECT_THAT(why_not(folder.write("short", "SQL")), HasSubstr("is not a database"));
  EXPECT_THAT(why_not(folder.write("head", std::string("SQLite format 3\0", 16))),
              AllOf(HasSubstr("head"), HasSubstr("damaged")));
  SQLite::Database(folder.at("other"), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec("CREATE TABLE t (x)");
  EXPECT_THAT(why_not(folder.at("other")), HasSubstr("not a store of Tangram"));
  std::filesystem::create_directory(folder.at("folder"));
  EXPECT_NE(why_not(folder.at("folder")), "it opened");
}

TEST(OpenStore, OnlyItsOwnerMayReadIt) {
  const Folder folder;
  make(folder.at("tangram.db"));
  struct stat info{};
  ASSERT_EQ(::stat(folder.at("tangram.db").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST(OpenStore, ReportsThatAnotherDaemonUsesIt) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  auto first = Store::open(path, {});
  ASSERT_TRUE(first);
  const auto second = Store::open(path, {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(second.error().message,
              AllOf(HasSubstr("in use by another daemon"), HasSubstr(std::to_string(::getpid()))));
  EXPECT_TRUE(Store::open(path, {.read_only = true}));  // reading needs no lock
  first->reset();
  EXPECT_TRUE(Store::open(path, {}));
}

TEST(OpenStore, RejectsANewerVersionAndNamesBoth) {
  const Folder folder;
  make(folder.at("tangram.db"));
  SQLite::Database(folder.at("tangram.db"), SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 9");
  EXPECT_THAT(why_not(folder.at("tangram.db")),
              AllOf(HasSubstr("has version 9"), HasSubstr(cat("up to version ", kOurs))));
}

TEST(OpenStore, MigratesAnOlderVersionAfterABackup) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  make(path);
  const Migration steps[] = {{.from = kOurs, .sql = "ALTER TABLE gpus ADD COLUMN colour TEXT"},
                             {.from = kOurs + 1, .sql = "CREATE TABLE extra (x)"}};
  const Schema newer{.version = kOurs + 2, .sql = nullptr, .migrations = steps};
  {
    const auto impl = open_impl(path, {}, newer);
    ASSERT_TRUE(impl) << impl.error().message;
    EXPECT_EQ((*impl)->db.execAndGet("PRAGMA user_version").getInt(), kOurs + 2);
    (*impl)->db.exec("SELECT colour FROM gpus");
    (*impl)->db.exec("SELECT x FROM extra");
  }
  std::string backup;
  for (const auto& entry : std::filesystem::directory_iterator(folder.at(""))) {
    const std::string name = entry.path().string();
    if (name.find(cat("tangram.db.backup-v", kOurs, "-")) != std::string::npos) backup = name;
  }
  ASSERT_FALSE(backup.empty());
  auto old = Store::open(backup, {.read_only = true});
  ASSERT_TRUE(old) << old.error().message;
  EXPECT_EQ((*old)->counts()->jobs, 50U);
  EXPECT_TRUE(replay(**old));
  EXPECT_THAT(why_not(path), HasSubstr(cat("has version ", kOurs + 2)));
}

// A migration that fails leaves the store as it was.
TEST(OpenStore, AFailedMigrationIsRolledBack) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  make(path);
  const Migration steps[] = {{.from = kOurs, .sql = "CREATE TABLE extra (x); SELECT nonsense"}};
  EXPECT_FALSE(open_impl(path, {}, {.version = kOurs + 1, .sql = nullptr, .migrations = steps}));
  const auto no_way = open_impl(path, {}, {.version = kOurs + 1, .sql = nullptr, .migrations = {}});
  ASSERT_FALSE(no_way);
  EXPECT_THAT(no_way.error().message, HasSubstr("no migration from"));
  auto store = Store::open(path, {});
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ((*store)->counts()->version, kOurs);
  EXPECT_TRUE(replay(**store));
}

TEST(OpenStore, AnOlderVersionCannotBeOpenedReadOnly) {
  const Folder folder;
  make(folder.at("tangram.db"));
  const auto impl = open_impl(folder.at("tangram.db"), {.read_only = true},
                              {.version = kOurs + 1, .sql = nullptr, .migrations = {}});
  ASSERT_FALSE(impl);
  EXPECT_THAT(impl.error().message, HasSubstr("start the daemon"));
}

// Damaged or truncated anywhere, the store fails to open or still has the same contents.
TEST(OpenStore, DamageIsDetectedOrHarmless) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  make(path);
  const std::string good = folder.read("tangram.db");
  const core::Saved saved = *(*Store::open(path, {}))->scheduler();
  int refused = 0;
  for (std::size_t at = 0; at < good.size(); at += 1021) {
    std::string bad = good;
    for (std::size_t i = at; i < std::min(at + 64, bad.size()); ++i) bad[i] = '\x5A';
    folder.write("bad.db", bad);
    const auto store = Store::open(folder.at("bad.db"), {});
    if (!store) {
      ++refused;
      EXPECT_THAT(store.error().message, HasSubstr("bad.db"));
      continue;
    }
    const auto read = (*store)->scheduler();
    EXPECT_TRUE(!read || *read == saved || !replay(**store)) << "at " << at;
  }
  EXPECT_GT(refused, 0);
  // SQLite reads what a cut last page lacks as zeros: damage as above.
  constexpr std::size_t kPage = 4096;
  for (std::size_t size = 1; size + kPage < good.size(); size += kPage + 511) {
    folder.write("cut.db", good.substr(0, size));
    EXPECT_NE(why_not(folder.at("cut.db")), "it opened") << size;
  }
  EXPECT_THAT(why_not(folder.at("cut.db")), HasSubstr("tangram store restore"));
}

TEST(OpenStore, AFolderThatCannotBeWritten) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const Folder folder;
  std::filesystem::create_directory(folder.at("locked"));
  ::chmod(folder.at("locked").c_str(), 0500);
  EXPECT_THAT(why_not(folder.at("locked/tangram.db")), HasSubstr("can be written"));
  ::chmod(folder.at("locked").c_str(), 0700);
}

TEST(OpenStore, AReaderDoesNotWrite) {
  const Folder folder;
  make(folder.at("tangram.db"));
  auto store = Store::open(folder.at("tangram.db"), {.read_only = true});
  ASSERT_TRUE(store) << store.error().message;
  const auto done = (*store)->commit({});
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("cannot be written"));
  EXPECT_TRUE((*store)->load(0));
}

TEST(Backup, IsConsistentWhileADaemonWrites) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  make(path);
  auto daemon = Store::open(path, {});
  ASSERT_TRUE(daemon);
  const auto done = create_backup(path, folder.at("copy.db"), false);
  ASSERT_TRUE(done) << done.error().message;
  auto copy = Store::open(folder.at("copy.db"), {.read_only = true});
  ASSERT_TRUE(copy) << copy.error().message;
  EXPECT_EQ(*(*copy)->scheduler(), *(*daemon)->scheduler());
  EXPECT_THAT(create_backup(path, folder.at("copy.db"), false).error().message,
              HasSubstr("--force"));
  EXPECT_TRUE(create_backup(path, folder.at("copy.db"), true));
  EXPECT_FALSE(folder.has("copy.db.unchecked"));
  EXPECT_FALSE(folder.has("copy.db.unchecked-wal"));
  EXPECT_EQ(create_backup(folder.at("no.db"), folder.at("x"), false).error().code,
            ErrorCode::kNotFound);
}

TEST(Backup, IsRestoredUnlessADaemonRuns) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  make(path);
  ASSERT_TRUE(create_backup(path, folder.at("copy.db"), false));
  {
    auto daemon = Store::open(path, {});
    ASSERT_TRUE(daemon);
    Changes changes;
    changes.facts = {{"later", "yes"}};
    changes.scheduler.rest = (*daemon)->scheduler()->rest;
    ASSERT_TRUE((*daemon)->commit(changes));
    EXPECT_THAT(restore_backup(folder.at("copy.db"), path).error().message, HasSubstr("in use"));
  }
  const auto kept = restore_backup(folder.at("copy.db"), path);
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_THAT(*kept, HasSubstr("tangram.db.replaced-"));
  EXPECT_TRUE((*Store::open(path, {}))->load(0)->facts.empty());
  EXPECT_EQ((*Store::open(*kept, {.read_only = true}))->load(0)->facts.at("later"), "yes");
  EXPECT_THAT(restore_backup(folder.write("bad", "x"), path).error().message,
              HasSubstr("not a database"));
}

// The way back after an upgrade: the older Tangram, to be installed next, reads the restored store.
TEST(Backup, OfAnOlderVersionIsRestoredAsItIs) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  make(path);
  ASSERT_TRUE(create_backup(path, folder.at("copy.db"), false));
  const std::string older = cat("PRAGMA user_version = ", kOurs - 1);
  SQLite::Database(folder.at("copy.db"), SQLite::OPEN_READWRITE).exec(older);
  const auto kept = restore_backup(folder.at("copy.db"), path);
  ASSERT_TRUE(kept) << kept.error().message;
  SQLite::Database restored(path, SQLite::OPEN_READONLY);
  EXPECT_EQ(restored.execAndGet("PRAGMA user_version").getInt(), kOurs - 1);
  EXPECT_EQ(restored.execAndGet("SELECT count(*) FROM jobs").getInt(), 50);
  EXPECT_THAT(why_not(*kept), HasSubstr("it opened"));
}

TEST(Backup, OfANewerVersionIsRefused) {
  const Folder folder;
  const std::string path = folder.at("tangram.db");
  make(path);
  ASSERT_TRUE(create_backup(path, folder.at("copy.db"), false));
  const std::string newer = cat("PRAGMA user_version = ", kOurs + 1);
  SQLite::Database(folder.at("copy.db"), SQLite::OPEN_READWRITE).exec(newer);
  EXPECT_THAT(restore_backup(folder.at("copy.db"), path).error().message,
              HasSubstr(cat("has version ", kOurs + 1)));
  EXPECT_EQ(why_not(path), "it opened");
}

}  // namespace
}  // namespace tangram::store
