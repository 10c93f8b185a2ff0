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

}  // namespace
}  // namespace tangram::store
