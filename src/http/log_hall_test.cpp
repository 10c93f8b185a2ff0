// The disk may take its time with a log: others are served meanwhile. One rule: the disk of this
// program is as slow as a test wants, because pread is ours here.
#include "http/log_hall.hpp"

#include <future>
#include <mutex>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/raw_socket.hpp"
#include "http/test_daemon.hpp"

namespace {

std::mutex slow_mutex;
std::function<void()> slow_disk;  // what a read waits for

}  // namespace

// In place of the C library's, in all of this program.
extern "C" ssize_t pread(int descriptor, void* room, size_t size, off_t offset) {
  std::function<void()> wait;
  {
    const std::lock_guard lock(slow_mutex);
    wait = slow_disk;
  }
  if (wait) wait();
  return ::syscall(SYS_pread64, descriptor, room, size, offset);
}

namespace tangram::http {
namespace {

using testing::Raw;
using ::testing::StartsWith;
using testing::TestDaemon;

constexpr std::string_view kHealth = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

class SlowDisk : public ::testing::Test {
 protected:
  SlowDisk() {
    const std::lock_guard lock(slow_mutex);
    slow_disk = [this] {
      ++readers_;
      there_.wait();
    };
  }
  ~SlowDisk() override {
    hurry();
    const std::lock_guard lock(slow_mutex);
    slow_disk = nullptr;
  }
  void hurry() {
    if (!std::exchange(hurried_, true)) is_there_.set_value();
  }

  std::promise<void> is_there_;
  std::shared_future<void> there_ = is_there_.get_future().share();
  std::atomic<int> readers_ = 0;
  bool hurried_ = false;
};

TEST_F(SlowDisk, HoldsUpNobodyWhoReadsNoLog) {
  TestDaemon daemon;
  const std::uint64_t id = daemon.add({});
  testing::append(daemon.add_run(id) / "stdout.log", "one\ntwo\n");
  daemon.finish(id, api::JobState::kCompleted, 0);
  const Raw raw(daemon.socket());
  const Raw other(daemon.socket());
  raw.say("GET /v1/jobs/1/logs?tail=1 HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(testing::eventually([&] { return readers_ > 0; }));
  other.say(kHealth);
  EXPECT_THAT(other.hear("}\n"), StartsWith("HTTP/1.1 200"));
  hurry();
  EXPECT_THAT(raw.hear(), ::testing::EndsWith("\r\n\r\ntwo\n"));
}

// Who leaves meanwhile is forgotten, and the daemon may end.
TEST_F(SlowDisk, IsWaitedForByNobodyWhoLeft) {
  TestDaemon daemon;
  const std::uint64_t id = daemon.add({});
  testing::append(daemon.add_run(id) / "stdout.log", "one\n");
  Raw raw(daemon.socket());
  raw.say("GET /v1/jobs/1/logs?follow=1 HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(testing::eventually([&] { return readers_ > 0 && daemon.waiting(id) > 0; }));
  raw.leave();
  EXPECT_TRUE(testing::eventually([&] { return daemon.waiting(id) == 0; }));
  const Raw last(daemon.socket());
  last.say("GET /v1/jobs/1/logs?follow=1 HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(testing::eventually([&] { return daemon.waiting(id) > 0; }));
  std::thread closes([&] { daemon.close(); });
  hurry();
  closes.join();
}

TEST(LogHall, ReadsInOrderAndTellsOnTheLoop) {
  boost::asio::io_context loop;
  const auto work = boost::asio::make_work_guard(loop);
  LogHall hall(loop);
  std::vector<int> read;
  std::vector<int> told;
  std::thread::id reader;
  for (int i = 0; i < 3; ++i) {
    const auto look = [&, i] {
      read.push_back(i);
      reader = std::this_thread::get_id();
    };
    hall.ask(look, [&, i] { told.push_back(i); });
  }
  while (told.size() < 3) loop.run_one();
  EXPECT_THAT(read, ::testing::ElementsAre(0, 1, 2));
  EXPECT_EQ(told, read);
  EXPECT_NE(reader, std::this_thread::get_id());
  hall.close();
  hall.ask([&] { read.push_back(3); }, [&] { told.push_back(3); });
  loop.poll();
  EXPECT_EQ(read.size() + told.size(), 6U);
}

}  // namespace
}  // namespace tangram::http
