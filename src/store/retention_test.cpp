// What Store::apply_retention() must keep, however old it is.
#include <gtest/gtest.h>

#include "store/store.hpp"
#include "tests/support/os/folder.hpp"
#include "tests/support/store/scheduler_driver.hpp"

namespace tangram::store {
namespace {

using testing::job_row;
using testing::must;
using testing::open_at;

constexpr Retention kNothing{.jobs = std::chrono::hours(0), .most_jobs = 0};

TEST(Retention, KeepsJobsThatOthersWaitFor) {
  const os::testing::Folder folder;
  const auto store = open_at(folder.at("tangram.db"));
  JobRow waiting = job_row(3);
  waiting.waits_for = R"({"1":"ok"})";
  Changes changes;
  changes.jobs = {job_row(1, true), job_row(2, true), waiting};
  must(store->commit(changes));
  ASSERT_TRUE(store->apply_retention(kNothing));
  EXPECT_TRUE(store->job(1)->has_value());
  EXPECT_FALSE(store->job(2)->has_value());
  EXPECT_EQ((*store->job(3))->waits_for, waiting.waits_for);
  waiting.waits_for.clear();
  changes.jobs = {waiting};
  must(store->commit(changes));
  ASSERT_TRUE(store->apply_retention(kNothing));
  EXPECT_FALSE(store->job(1)->has_value());
}

JobRow task_row(std::uint64_t id, bool over) {
  JobRow row = job_row(id, over);
  row.state = over ? "completed" : "queued";
  row.array = 1;
  row.array_index = static_cast<std::uint32_t>(id);
  return row;
}

TEST(Retention, KeepsTheTasksOfAnArrayUntilAllHaveEnded) {
  const os::testing::Folder folder;
  const auto store = open_at(folder.at("tangram.db"));
  Changes changes;
  changes.arrays = {{.id = 1, .spec = "2-3", .tasks = 2, .first = 2, .request = "{\"a\":1}"}};
  changes.jobs = {task_row(2, true), task_row(3, false)};
  must(store->commit(changes));
  ASSERT_TRUE(store->apply_retention(kNothing));
  using States = std::map<std::string, std::uint64_t>;
  EXPECT_EQ(store->array_states(1).value(), (States{{"completed", 1}, {"queued", 1}}));
  EXPECT_EQ((*store->job(2))->request, "{\"a\":1}");  // that of the array
  EXPECT_EQ((*store->job(3))->array_index, 3U);
  EXPECT_EQ(store->request_sizes()->at(3), 4U);  // half of it
  changes = {};
  changes.jobs = {task_row(3, true)};
  must(store->commit(changes));
  ASSERT_TRUE(store->apply_retention(kNothing));
  EXPECT_FALSE(store->job(3)->has_value());
  EXPECT_FALSE(store->array(1)->has_value());
}

}  // namespace
}  // namespace tangram::store
