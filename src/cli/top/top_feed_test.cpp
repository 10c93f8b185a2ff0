// The requests of `tangram top`: their rate under many events, and which jobs are fetched.
#include "cli/top/top_feed.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/http/daemon.hpp"

namespace tangram::cli {
namespace {

using http::testing::eventually;
using http::testing::TestDaemon;

// Takes updates as the screen does, and counts the snapshots.
class Watcher {
 public:
  explicit Watcher(TestDaemon& daemon)
      : feed_(DaemonOptions{.socket = daemon.socket()}, std::chrono::hours(1)) {}

  std::shared_ptr<const TopSnapshot> poll() {
    auto snapshot = feed_.take().snapshot;
    if (snapshot->taken != api::WallTime{} && snapshot != last_) {
      ++count_;
      last_ = snapshot;
    }
    return snapshot;
  }
  [[nodiscard]] int count() const { return count_; }

 private:
  TopFeed feed_;
  std::shared_ptr<const TopSnapshot> last_;
  int count_ = 0;
};

TEST(TopFeed, FetchesAtMostTwiceASecondUnderManyEvents) {
  TestDaemon daemon;
  daemon.status.version = "1";
  Watcher watcher(daemon);
  const auto listening = [&] {
    return daemon.on_loop([&] { return daemon.events.listeners() > 0; });
  };
  ASSERT_TRUE(eventually(listening));
  const auto begin = std::chrono::steady_clock::now();
  const auto until = begin + 4 * TopFeed::kMinInterval;
  while (std::chrono::steady_clock::now() < until) {
    daemon.on_loop([&] { daemon.events.add("job.running", 1); });
    watcher.poll();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // a steady stream of events
  }
  const auto spans = (std::chrono::steady_clock::now() - begin) / TopFeed::kMinInterval;
  EXPECT_LE(watcher.count(), spans + 2);
  ASSERT_TRUE(eventually([&] { return watcher.poll() && watcher.count() >= 2; }));
}

TEST(TopFeed, FetchesTheNewestAndTheRunningJobs) {
  TestDaemon daemon;
  daemon.status.version = "1";
  daemon.status.running = 2;
  daemon.status.queued = TopFeed::kMaxJobs + 500;
  api::JobView job;
  job.state = api::JobState::kRunning;
  for (int i = 0; i < 2; ++i) daemon.add(job);
  job.state = api::JobState::kQueued;
  for (std::size_t i = 0; i < TopFeed::kMaxJobs + 500; ++i) daemon.add(job);
  Watcher watcher(daemon);
  ASSERT_TRUE(eventually([&] { return watcher.poll() && watcher.count() > 0; }));
  const auto snapshot = watcher.poll();
  ASSERT_EQ(snapshot->jobs.size(), TopFeed::kMaxJobs + 2);
  EXPECT_EQ(snapshot->jobs[0].id, 1U);
  EXPECT_EQ(snapshot->jobs[1].id, 2U);
  EXPECT_EQ(snapshot->jobs.back().id, TopFeed::kMaxJobs + 502);
  EXPECT_EQ(snapshot->left_out, 500U);
}

}  // namespace
}  // namespace tangram::cli
