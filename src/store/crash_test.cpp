// The store and kill -9 at random times: every acknowledged batch is there, and of others either
// nothing or the whole batch. A child commits batches and acknowledges each with a byte through a
// pipe; it is killed many times on the same store.
#include <csignal>
#include <random>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "store/replay.hpp"
#include "store/wal_sync.hpp"
#include "tests/support/os/folder.hpp"
#include "tests/support/store/scheduler_driver.hpp"

namespace tangram::store {
namespace {

using testing::SchedulerDriver;

// Batch n has n % 5 + 1 jobs, which have its number in their names.
void commit_batch(Store& store, SchedulerDriver& driver, std::uint64_t n, std::uint64_t& next_job) {
  if (driver.scheduler().node().gpu_count() == 0) {
    driver.step(core::GpuAdded{testing::model_named("A100-40GB"), {}});
  }
  for (std::uint64_t i = 0; i <= n % 5; ++i) {
    driver.submit(next_job++);
    while (driver.answer()) {
    }
  }
  driver.batch().facts["batch"] = std::to_string(n);
  CHECK(store.commit(driver.take()).has_value());
}

[[noreturn]] void child(const std::string& path, int acknowledge) {
  auto store = Store::open(path, {});
  CHECK(store.has_value());
  const auto contents = (*store)->load(0);
  CHECK(contents.has_value());
  std::optional<SchedulerDriver> driver;
  if (contents->fresh) {
    driver.emplace();
  } else {
    driver.emplace(*contents);
  }
  std::uint64_t next_job = contents->last_job + 1;
  std::uint64_t n = contents->fresh ? 0 : std::stoull(contents->facts.at("batch"));
  WalSync wal_sync(**store);
  while (true) {
    commit_batch(**store, *driver, ++n, next_job);
    if (n % 3 == 0) {  // unsynced commits survive the process, too
      CHECK(wal_sync.sync().has_value());
      CHECK(wal_sync.checkpoint().has_value());
    }
    const char byte = 'x';
    if (::write(acknowledge, &byte, 1) != 1) ::_exit(1);
  }
}

std::uint64_t drain(int fd) {
  std::uint64_t count = 0;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof buffer)) > 0;) {
    count += static_cast<std::uint64_t>(got);
  }
  return count;
}

// Kills the child after this time, counted from its start or from its first batch.
std::uint64_t run_and_kill(const std::string& path, std::chrono::microseconds after,
                           bool first_batch) {
  int ends[2];
  CHECK(::pipe(ends) == 0);
  const pid_t pid = ::fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    ::close(ends[0]);
    child(path, ends[1]);
  }
  ::close(ends[1]);
  std::uint64_t acknowledged = 0;
  if (first_batch) {
    char byte = 0;
    EXPECT_EQ(::read(ends[0], &byte, 1), 1);
    ++acknowledged;
  }
  ::usleep(static_cast<useconds_t>(after.count()));
  ::kill(pid, SIGKILL);
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  acknowledged += drain(ends[0]);
  ::close(ends[0]);
  return acknowledged;
}

TEST(StoreCrash, AcknowledgedBatchesSurvive) {
  const os::testing::Folder folder;
  const std::string path = folder.at("tangram.db");
  std::mt19937 random(7);
  std::uint64_t batches = 0;
  std::uint64_t total = 0;
  for (int round = 0; round < 40; ++round) {
    const std::uint64_t acknowledged =
        run_and_kill(path, std::chrono::microseconds(random() % 60'000), round % 2 == 1);
    total += acknowledged;
    if (!folder.has("tangram.db")) continue;  // killed before it was created
    auto store = Store::open(path, {});
    ASSERT_TRUE(store) << store.error().message;
    const auto contents = (*store)->load(0);
    ASSERT_TRUE(contents) << contents.error().message;
    if (contents->fresh) {
      ASSERT_EQ(acknowledged, 0U);
      continue;
    }
    const std::uint64_t there = std::stoull(contents->facts.at("batch"));
    ASSERT_GE(there, batches + acknowledged);
    ASSERT_LE(there, batches + acknowledged + 1);  // the last one may lack its acknowledgement
    batches = there;
    std::uint64_t jobs = 0;
    for (std::uint64_t n = 1; n <= batches; ++n) jobs += n % 5 + 1;
    ASSERT_EQ(contents->last_job, jobs);
    ASSERT_EQ((*store)->counts()->jobs, jobs);
    const auto replayed = replay(**store);
    ASSERT_TRUE(replayed) << replayed.error().message;
  }
  EXPECT_GT(total, 40U);
}

}  // namespace
}  // namespace tangram::store
