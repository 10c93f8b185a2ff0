// What `tangram top` asks of the daemon: no more than it needs, however much happens. One rule: the
// daemon counts the questions.
#include "cli/top_feed.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "http/test_daemon.hpp"

namespace tangram::cli {
namespace {

using http::testing::eventually;
using http::testing::TestDaemon;

// Pictures that were taken, looked at as the screen does.
class Watcher {
 public:
  explicit Watcher(TestDaemon& daemon)
      : feed_(DaemonOptions{.socket = daemon.socket()}, std::chrono::hours(1)) {}

  std::shared_ptr<const TopPicture> look() {
    auto picture = feed_.take().picture;
    if (picture->taken != api::WallTime{} && picture != last_) {
      ++count_;
      last_ = picture;
    }
    return picture;
  }
  [[nodiscard]] int count() const { return count_; }

 private:
  TopFeed feed_;
  std::shared_ptr<const TopPicture> last_;
  int count_ = 0;
};

TEST(TopFeed, LooksTwiceASecondAtMostHoweverMuchHappens) {
  TestDaemon daemon;
  daemon.status.version = "1";
  Watcher watcher(daemon);
  const auto listening = [&] {
    return daemon.on_loop([&] { return daemon.events.listeners() > 0; });
  };
  ASSERT_TRUE(eventually(listening));
  const auto begin = std::chrono::steady_clock::now();
  const auto until = begin + 4 * TopFeed::kBetweenLooks;
  while (std::chrono::steady_clock::now() < until) {
    daemon.on_loop([&] { daemon.events.add("job.running", 1); });
    watcher.look();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // events that do not end
  }
  const auto spans = (std::chrono::steady_clock::now() - begin) / TopFeed::kBetweenLooks;
  EXPECT_LE(watcher.count(), spans + 2);
  ASSERT_TRUE(eventually([&] { return watcher.look() && watcher.count() >= 2; }));
}

TEST(TopFeed, AsksForTheNewestAndForWhatRuns) {
  TestDaemon daemon;
  daemon.status.version = "1";
  daemon.status.running = 2;
  daemon.status.queued = TopFeed::kMostJobs + 500;
  api::JobView job;
  job.state = api::JobState::kRunning;
  for (int i = 0; i < 2; ++i) daemon.add(job);
  job.state = api::JobState::kQueued;
  for (std::size_t i = 0; i < TopFeed::kMostJobs + 500; ++i) daemon.add(job);
  Watcher watcher(daemon);
  ASSERT_TRUE(eventually([&] { return watcher.look() && watcher.count() > 0; }));
  const auto picture = watcher.look();
  ASSERT_EQ(picture->jobs.size(), TopFeed::kMostJobs + 2);
  EXPECT_EQ(picture->jobs[0].id, 1U);
  EXPECT_EQ(picture->jobs[1].id, 2U);
  EXPECT_EQ(picture->jobs.back().id, TopFeed::kMostJobs + 502);
  EXPECT_EQ(picture->left_out, 500U);
}

}  // namespace
}  // namespace tangram::cli
