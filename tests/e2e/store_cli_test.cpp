// `tangram store …`. Every test has its own state folder, with a store of a few jobs.
#include <SQLiteCpp/SQLiteCpp.h>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "cli_check.hpp"
#include "tests/support/os/folder.hpp"
#include "tests/support/store/scheduler_driver.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class StoreCli : public ::testing::Test {
 protected:
  void SetUp() override {
    auto store = store::Store::open(path(), {});
    ASSERT_TRUE(store) << store.error().message;
    store::testing::SchedulerDriver driver;
    driver.step(core::GpuAdded{store::testing::model_named("A100-40GB"), {}});
    for (std::uint64_t id = 1; id <= 12; ++id) {
      driver.submit(id);
      while (driver.answer()) {
      }
    }
    const auto done = (*store)->commit(driver.take());
    ASSERT_TRUE(done) << done.error().message;
  }
  Ended run(const Words& words) {
    return tangram_run(words, "", {"TANGRAM_STATE_DIR=" + folder_.at("")});
  }
  std::string ok(const Words& words) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return ended.out;
  }
  std::string refused(const Words& words, int code) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, code) << ended.out;
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, AllOf(StartsWith("tangram: "), EndsWith("\n")));
    return ended.err;
  }
  [[nodiscard]] std::string path() const { return folder_.at("tangram.db"); }

  os::testing::Folder folder_;
};

TEST_F(StoreCli, ChecksAndCounts) {
  const std::string text = ok({"store", "check", "--replay"});
  EXPECT_THAT(text, AllOf(HasSubstr("tangram.db: ok"), HasSubstr("jobs       12 (0 finished)"),
                          HasSubstr("steps, same decisions")));
  const json::object all = json::parse(ok({"store", "check", path(), "--json"})).as_object();
  EXPECT_EQ(all.at("ok"), true);
  EXPECT_EQ(all.at("version"), 7);
  EXPECT_EQ(all.at("jobs"), 12);
  EXPECT_EQ(all.at("first_step"), 1);
  EXPECT_FALSE(all.contains("replayed_steps"));
}

// A state that the daemon would refuse is refused here as well, with the same message.
TEST_F(StoreCli, ChecksWhatTheStartOfTheDaemonChecks) {
  SQLite::Database(path(), SQLite::OPEN_READWRITE)
      .exec("UPDATE saved_rest SET state = json_set(state, '$.next_run', 0)");
  EXPECT_THAT(refused({"store", "check"}, 2), HasSubstr("numbers that begin at 0"));
  EXPECT_THAT(refused({"store", "backup", folder_.at("copy.db")}, 1),
              HasSubstr("numbers that begin at 0"));
}

// Earlier versions stored a job twice among those that cool down, and then refused to start.
TEST_F(StoreCli, RepeatedCooldownIsRepaired) {
  SQLite::Database(path(), SQLite::OPEN_READWRITE)
      .exec("UPDATE saved_rest SET state = json_set(state, '$.cooling', json('[1,1]'))");
  EXPECT_THAT(ok({"store", "check"}), HasSubstr("tangram.db: ok"));
}

TEST_F(StoreCli, FindsTheStoreInAStateFolder) {
  const Ended ended = tangram_run({"store", "check", "--state-dir", folder_.at("")});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(refused({"store", "check", "--state-dir", "/nowhere"}, 2), HasSubstr("/nowhere"));
}

TEST_F(StoreCli, ReplaysTheJournal) {
  EXPECT_THAT(ok({"store", "replay"}), HasSubstr("the same final state"));
  const json::object all = json::parse(ok({"store", "replay", "--json"})).as_object();
  EXPECT_EQ(all.at("first"), 1);
  EXPECT_EQ(all.at("steps"), all.at("last"));
}

TEST_F(StoreCli, BacksUpWhileADaemonRuns) {
  const auto daemon = store::Store::open(path(), {});
  ASSERT_TRUE(daemon);
  const std::string copy = folder_.at("copy.db");
  EXPECT_THAT(ok({"store", "backup", copy}), HasSubstr("(verified)"));
  EXPECT_THAT(ok({"store", "check", copy, "--replay"}), HasSubstr(": ok\n"));
  EXPECT_THAT(refused({"store", "backup", copy}, 2), HasSubstr("--force"));
  EXPECT_THAT(ok({"store", "backup", copy, "--force", "--json"}), HasSubstr(copy));
  EXPECT_THAT(refused({"store", "restore", copy}, 1), HasSubstr("in use by another daemon"));
}

TEST_F(StoreCli, RestoresAndKeepsThePreviousStore) {
  const std::string copy = folder_.at("copy.db");
  ok({"store", "backup", copy});
  folder_.write("tangram.db", "oh no");
  EXPECT_THAT(refused({"store", "check"}, 2), HasSubstr("is not a database"));
  const std::string text = ok({"store", "restore", copy});
  EXPECT_THAT(text, HasSubstr("kept as " + path() + ".replaced-"));
  EXPECT_THAT(ok({"store", "check", "--replay"}), HasSubstr("jobs       12"));
  EXPECT_THAT(refused({"store", "restore", folder_.at("none")}, 2), HasSubstr("none: not found"));
}

TEST_F(StoreCli, ReportsADamagedStore) {
  std::string bytes = folder_.read("tangram.db");
  for (std::size_t i = 4096; i < bytes.size(); ++i) bytes[i] = '\x5A';
  folder_.write("tangram.db", bytes);
  EXPECT_THAT(refused({"store", "check"}, 1),
              AllOf(HasSubstr("damaged"), HasSubstr("tangram store restore")));
}

}  // namespace
}  // namespace tangram::tests
