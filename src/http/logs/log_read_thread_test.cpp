// A slow disk must not block requests that read no log. This program replaces pread(), so that a
// test can make reads wait.
#include "http/logs/log_read_thread.hpp"

#include <future>
#include <mutex>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/http/daemon.hpp"
#include "tests/support/http/raw_socket.hpp"

namespace {

std::mutex slow_mutex;
std::function<void()> slow_disk;  // called by each pread()

}  // namespace

// Replaces the C library's function in this program.
extern "C" ssize_t pread(int descriptor, void* buffer, size_t size, off_t offset) {
  std::function<void()> wait;
  {
    const std::lock_guard lock(slow_mutex);
    wait = slow_disk;
  }
  if (wait) wait();
  return ::syscall(SYS_pread64, descriptor, buffer, size, offset);
}

namespace tangram::http {
namespace {

using testing::RawSocket;
using ::testing::StartsWith;
using testing::TestDaemon;

constexpr std::string_view kHealth = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

class SlowDisk : public ::testing::Test {
 protected:
  SlowDisk() {
    const std::lock_guard lock(slow_mutex);
    slow_disk = [this] {
      ++readers_;
      may_go_on_.wait();
    };
  }
  ~SlowDisk() override {
    unblock();
    const std::lock_guard lock(slow_mutex);
    slow_disk = nullptr;
  }
  void unblock() {
    if (!std::exchange(unblocked_, true)) go_on_.set_value();
  }

  std::promise<void> go_on_;
  std::shared_future<void> may_go_on_ = go_on_.get_future().share();
  std::atomic<int> readers_ = 0;
  bool unblocked_ = false;
};

TEST_F(SlowDisk, DoesNotBlockOtherRequests) {
  TestDaemon daemon;
  const std::uint64_t id = daemon.add({});
  testing::append(daemon.add_run(id) / "stdout.log", "one\ntwo\n");
  daemon.finish(id, api::JobState::kCompleted, 0);
  const RawSocket raw(daemon.socket());
  const RawSocket other(daemon.socket());
  raw.send("GET /v1/jobs/1/logs?tail=1 HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(testing::eventually([&] { return readers_ > 0; }));
  other.send(kHealth);
  EXPECT_THAT(other.receive("}\n"), StartsWith("HTTP/1.1 200"));
  unblock();
  EXPECT_THAT(raw.receive(), ::testing::EndsWith("\r\n\r\ntwo\n"));
}

// A client that disconnects meanwhile is released, and the daemon can close.
TEST_F(SlowDisk, DoesNotBlockDisconnectOrClose) {
  TestDaemon daemon;
  const std::uint64_t id = daemon.add({});
  testing::append(daemon.add_run(id) / "stdout.log", "one\n");
  RawSocket raw(daemon.socket());
  raw.send("GET /v1/jobs/1/logs?follow=1 HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(testing::eventually([&] { return readers_ > 0 && daemon.waiting(id) > 0; }));
  raw.close();
  EXPECT_TRUE(testing::eventually([&] { return daemon.waiting(id) == 0; }));
  const RawSocket last(daemon.socket());
  last.send("GET /v1/jobs/1/logs?follow=1 HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(testing::eventually([&] { return daemon.waiting(id) > 0; }));
  std::thread closes([&] { daemon.close(); });
  unblock();
  closes.join();
}

TEST(LogReadThread, ReadsInOrderAndCompletesOnTheLoop) {
  boost::asio::io_context loop;
  const auto work = boost::asio::make_work_guard(loop);
  LogReadThread thread(loop);
  std::vector<int> read;
  std::vector<int> done;
  std::thread::id reader;
  for (int i = 0; i < 3; ++i) {
    const auto note = [&, i] {
      read.push_back(i);
      reader = std::this_thread::get_id();
    };
    thread.run(note, [&, i] { done.push_back(i); });
  }
  while (done.size() < 3) loop.run_one();
  EXPECT_THAT(read, ::testing::ElementsAre(0, 1, 2));
  EXPECT_EQ(done, read);
  EXPECT_NE(reader, std::this_thread::get_id());
  thread.close();
  thread.run([&] { read.push_back(3); }, [&] { done.push_back(3); });
  loop.poll();
  EXPECT_EQ(read.size() + done.size(), 6U);
}

}  // namespace
}  // namespace tangram::http
