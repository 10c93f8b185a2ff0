// Logs: reading, following across rotation and runs, resuming after a broken connection.
#include <algorithm>
#include <fcntl.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/client/client.hpp"
#include "http/logs/log_reader.hpp"
#include "os/descriptor.hpp"
#include "os/lock.hpp"
#include "tests/support/http/daemon.hpp"
#include "tests/support/http/raw_socket.hpp"

namespace tangram::http {
namespace {

namespace fs = std::filesystem;
using testing::append;
using testing::TestDaemon;

// Rotates like the shim.
void rotate(const fs::path& log, int files) {
  for (int age = files - 1; age > 0; --age) {
    const fs::path from = age == 1 ? log : fs::path(cat(log.string(), '.', age - 1));
    if (fs::exists(from)) fs::rename(from, cat(log.string(), '.', age));
  }
  append(log, "");
}

class Logs : public ::testing::Test {
 protected:
  // `seen`: set to the number of bytes received so far.
  std::string read(const std::string& parameters = "", std::atomic<std::size_t>* seen = nullptr) {
    auto client = Client::open(daemon_.socket());
    std::string all;
    const auto done =
        client->stream(cat("/v1/jobs/", id_, "/logs", parameters), [&](const LogChunk& piece) {
          all += piece.bytes;
          if (seen != nullptr) *seen = all.size();
          return true;
        });
    EXPECT_TRUE(done.has_value()) << done.error().message;
    return all;
  }
  void finish_job() { daemon_.finish(id_, api::JobState::kCompleted, 0); }

  TestDaemon daemon_;
  std::uint64_t id_ = daemon_.add({});
};

TEST_F(Logs, AreReadOverRotationAndRuns) {
  EXPECT_EQ(read(), "");
  const fs::path first = daemon_.add_run(id_);
  append(first / "stdout.log", "a\nb\n");
  append(first / "stderr.log", "error\n");
  rotate(first / "stdout.log", 4);
  append(first / "stdout.log", "c\n");
  const fs::path second = daemon_.add_run(id_);
  append(second / "stdout.log", "d\ne");
  EXPECT_EQ(read(), "a\nb\nc\nd\ne");
  EXPECT_EQ(read("?stream=stderr"), "error\n");
  EXPECT_EQ(read("?tail=0"), "");
  EXPECT_EQ(read("?tail=1"), "e");
  EXPECT_EQ(read("?tail=2"), "d\ne");
  EXPECT_EQ(read("?tail=3"), "c\nd\ne");
  EXPECT_EQ(read("?tail=4"), "b\nc\nd\ne");
  EXPECT_EQ(read("?tail=99"), "a\nb\nc\nd\ne");
  append(second / "stdout.log", "\n");
  EXPECT_EQ(read("?tail=1"), "e\n");
}

TEST_F(Logs, AreFollowedFromBeforeTheFirstRun) {
  std::string all;
  std::atomic<std::size_t> seen = 0;
  std::thread follower([&] { all = read("?follow=1", &seen); });
  while (daemon_.waiting(id_) < 2) std::this_thread::yield();
  const fs::path run = daemon_.add_run(id_);
  daemon_.change(id_, [](TestDaemon::Job& job) { job.view.state = api::JobState::kRunning; });
  append(run / "stdout.log", "first\n");
  while (seen == 0) std::this_thread::yield();
  append(run / "stdout.log", "last\n");
  finish_job();
  follower.join();
  EXPECT_EQ(all, "first\nlast\n");
  EXPECT_EQ(daemon_.waiting(id_), 0U);
}

TEST_F(Logs, AreFollowedWhileTheyAreRotated) {
  fs::path run = daemon_.add_run(id_);
  append(run / "stdout.log", "");
  std::string all;
  std::atomic<std::size_t> seen = 0;
  std::thread follower([&] {
    auto client = Client::open(daemon_.socket());
    const auto done =
        client->stream(cat("/v1/jobs/", id_, "/logs?follow=1"), [&](const LogChunk& piece) {
          all += piece.bytes;
          seen = all.size();
          EXPECT_FALSE(piece.gap);
          return true;
        });
    EXPECT_TRUE(done.has_value());
  });
  std::string written;
  for (int i = 0; i < 3'000; ++i) {
    const std::string line = cat("line ", i, "\n");
    append(run / "stdout.log", line);
    written += line;
    if (i % 1'000 == 500) {
      append(run / "exit", "{}");
      run = daemon_.add_run(id_);
      append(run / "stdout.log", "");
    } else if (i % 50 == 0) {
      // Wait until the output was read, so that rotation does not delete it.
      while (written.size() - seen > 100) std::this_thread::yield();
      rotate(run / "stdout.log", 4);
    }
  }
  finish_job();
  follower.join();
  EXPECT_EQ(all, written);
}

TEST_F(Logs, ResumeWhereTheConnectionBroke) {
  const fs::path run = daemon_.add_run(id_);
  std::string written;
  for (int i = 0; i < 20'000; ++i) written += cat("line ", i, "\n");
  append(run / "stdout.log", std::string_view(written).substr(0, 100'000));
  rotate(run / "stdout.log", 4);
  append(run / "stdout.log", std::string_view(written).substr(100'000));
  finish_job();
  std::string all;
  std::string next;
  int connections = 0;
  while (all.size() < written.size()) {
    auto client = Client::open(daemon_.socket());
    ASSERT_LT(++connections, 1'000);
    const auto done = client->stream(
        cat("/v1/jobs/", id_, "/logs", next.empty() ? "" : "?from=", percent_encoded(next)),
        [&](const LogChunk& piece) {
          all += piece.bytes;
          next = piece.next;
          return false;
        });
    ASSERT_TRUE(done.has_value()) << done.error().message;
  }
  EXPECT_GT(connections, 2);
  EXPECT_EQ(all, written);
  EXPECT_EQ(read(cat("?from=", next)), "");
}

TEST_F(Logs, ReportAGapAfterRotation) {
  const fs::path run = daemon_.add_run(id_);
  append(run / "stdout.log", "old\n");
  auto client = Client::open(daemon_.socket());
  std::string next;
  std::vector<bool> gaps;
  const auto take = [&](const LogChunk& piece) {
    next = piece.next;
    gaps.push_back(piece.gap);
    return true;
  };
  ASSERT_TRUE(client->stream("/v1/jobs/1/logs", take).has_value());
  rotate(run / "stdout.log", 2);
  append(run / "stdout.log", "lost\n");
  rotate(run / "stdout.log", 2);
  append(run / "stdout.log", "new\n");
  rotate(run / "stdout.log", 2);
  ASSERT_TRUE(client->stream(cat("/v1/jobs/1/logs?from=", next), take).has_value());
  EXPECT_EQ(gaps, (std::vector<bool>{false, true}));
}

TEST_F(Logs, AbortEndsAFollower) {
  auto client = Client::open(daemon_.socket());
  std::thread stopper([&] {
    while (daemon_.waiting(id_) < 2) std::this_thread::yield();
    client->abort();
  });
  EXPECT_FALSE(client->stream("/v1/jobs/1/logs?follow=1", [](const LogChunk&) { return true; }));
  stopper.join();
}

TEST_F(Logs, RejectInvalidParameters) {
  auto client = Client::open(daemon_.socket());
  const auto take = [](const LogChunk&) { return true; };
  EXPECT_FALSE(client->stream("/v1/jobs/1/logs?from=x", take));
  EXPECT_FALSE(client->stream("/v1/jobs/1/logs?from=0-1-2:3&tail=2", take));
  EXPECT_FALSE(client->stream("/v1/jobs/1/logs?stream=both", take));
  EXPECT_EQ(client->stream("/v1/jobs/2/logs", take).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(client->stream("/v1/jobs/1/logs?from=99999-1-2:3", take));
}

// Positions are untrusted input: one beyond the last run yields nothing, however large it is.
TEST_F(Logs, PositionsBeyondTheLastRunYieldNothing) {
  EXPECT_FALSE(parse_position("18446744073709551615-0-0:0"));
  EXPECT_FALSE(parse_position("2147483648-0-0:0"));
  EXPECT_FALSE(parse_position("0-0-0:9223372036854775808"));
  EXPECT_EQ(to_text(*parse_position("2147483647-1-2:3")), "2147483647-1-2:3");
  append(daemon_.add_run(id_) / "stdout.log", "a");
  append(daemon_.add_run(id_) / "stdout.log", "b");
  const testing::RawSocket raw(daemon_.socket());
  raw.send("GET /v1/jobs/1/logs?from=18446744073709551615-0-0:0 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(raw.receive("}\n"), ::testing::StartsWith("HTTP/1.1 400"));
  std::vector<char> buffer(100);
  for (const std::size_t run : {std::size_t{2}, std::size_t{INT32_MAX}, ~std::size_t{0}}) {
    LogReader reader("stdout.log");
    reader.set_source(daemon_.job(id_).logs);
    reader.begin_at({.run = run, .file = {}, .offset = 0});
    EXPECT_FALSE(reader.read(buffer).has_value()) << run;
    EXPECT_EQ(reader.folder(), "") << run;
  }
}

// While a job is moved, the original and its replica write at once; they are read one after the
// other.
TEST_F(Logs, WaitForARunThatStillWrites) {
  const fs::path original = daemon_.add_run(id_);
  append(original / "stdout.log", "1");
  append(original / "lock", "");
  append(original / "exit", std::string(4'096, '\0'));  // as the shim reserves it
  std::optional<os::Descriptor> lock(::open((original / "lock").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(os::take_lock(lock->get()), 0);
  LogReader reader("stdout.log");
  const fs::path replica = daemon_.add_run(id_);
  append(replica / "stdout.log", "3");
  reader.set_source(daemon_.job(id_).logs);
  std::vector<char> buffer(100);
  EXPECT_EQ(reader.read(buffer)->size, 1U);
  EXPECT_FALSE(reader.read(buffer).has_value());
  append(original / "stdout.log", "2");
  EXPECT_EQ(reader.read(buffer)->size, 1U);
  EXPECT_FALSE(reader.read(buffer).has_value());
  lock.reset();
  EXPECT_EQ(reader.read(buffer)->at.run, 1U);
  EXPECT_EQ(buffer[0], '3');
}

// A lock that cannot be queried (here a symbolic link, which is not opened) does not end a run, but
// its exit record does.
TEST_F(Logs, WaitForARunWhoseLockCannotBeQueried) {
  const fs::path original = daemon_.add_run(id_);
  append(original / "stdout.log", "1");
  append(original / "exit", std::string(4'096, '\0'));
  fs::create_symlink(original / "stdout.log", original / "lock");
  const fs::path replica = daemon_.add_run(id_);
  append(replica / "stdout.log", "3");
  LogReader reader("stdout.log");
  reader.set_source(daemon_.job(id_).logs);
  std::vector<char> buffer(100);
  EXPECT_EQ(reader.read(buffer)->size, 1U);
  EXPECT_FALSE(reader.read(buffer).has_value());
  EXPECT_FALSE(reader.waits_for_run());
  append(original / "stdout.log", "2");
  EXPECT_EQ(reader.read(buffer)->size, 1U);
  std::fstream(original / "exit", std::ios::in | std::ios::out) << "{}";
  EXPECT_TRUE(reader.waits_for_run());
  EXPECT_EQ(reader.read(buffer)->at.run, 1U);
  EXPECT_EQ(buffer[0], '3');
}

// The stream is cut off, so that the client does not take it for the end of the output.
TEST_F(Logs, AreCutOffWhenTheTokenIsRevoked) {
  const fs::path run = daemon_.add_run(id_);
  append(run / "stdout.log", "before\n");
  const testing::RawSocket raw(daemon_.socket());
  raw.send(
      "GET /v1/jobs/1/logs?follow=1 HTTP/1.1\r\nHost: x\r\n"
      "Authorization: Bearer tangram_1_read\r\n\r\n");
  EXPECT_THAT(raw.receive("before\n\r\n"), ::testing::HasSubstr("before"));
  daemon_.on_loop([&] { daemon_.tokens.revoked = true; });
  append(run / "stdout.log", "after\n");
  EXPECT_EQ(raw.receive(), "");
}

// Also if the client does not read and the write is blocked.
TEST(LogsOfSlowReaders, AreCutOffWhenTheTokenIsRevoked) {
  ServerOptions options;
  options.heartbeat = std::chrono::milliseconds(20);
  TestDaemon daemon(options);
  const std::uint64_t id = daemon.add({});
  append(daemon.add_run(id) / "stdout.log", std::string(std::size_t{8} << 20U, 'x'));
  const testing::RawSocket raw(daemon.socket());
  raw.send(
      "GET /v1/jobs/1/logs?follow=1 HTTP/1.1\r\nHost: x\r\n"
      "Authorization: Bearer tangram_1_read\r\n\r\n");
  while (daemon.waiting(id) == 0) std::this_thread::yield();
  raw.wait_readable();
  daemon.on_loop([&] { daemon.tokens.revoked = true; });
  EXPECT_TRUE(testing::eventually([&] { return daemon.waiting(id) == 0; }));
  EXPECT_LT(raw.receive().size(), std::size_t{8} << 20U);
}

}  // namespace
}  // namespace tangram::http
