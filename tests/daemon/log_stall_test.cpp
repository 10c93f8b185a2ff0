// A reader of the daemon's log that stalls must not stop the daemon: the log is bounded, and what
// is dropped is counted.
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <regex>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "http/client/client.hpp"
#include "node.hpp"
#include "os/descriptor.hpp"

namespace tangram::tests {
namespace {

constexpr std::chrono::milliseconds kAnswerTime{5'000};

// A reload logs a warning for each of these keys.
constexpr const char* kNeedsRestart = R"(
[daemon]
socket_mode = "0600"
[access]
connections_per_user = 7
[log]
format = "json"
audit = "/a.log"
[device]
enable_mig = true
change_time = "5s"
in_use_time = "2s"
observe_every = "1s"
[jobs]
cgroup = "off"
[endpoints]
host = "127.0.0.2"
first_port = 31000
last_port = 31009
wait = "9s"
connect = "9s"
keep_alive = "9s"
idle = "9s"
)";

// A node whose standard error is a FIFO that is read only by read_log().
class StalledLog : public ::testing::Test {
 protected:
  StalledLog() {
    CHECK(::mkfifo(node.at("log").c_str(), 0600) == 0);
    fifo_ = os::Descriptor(::open(node.at("log").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    CHECK(fifo_.ok());
    node.start();
  }

  // The metrics; empty if the daemon does not answer.
  std::string metrics() {
    auto client = http::Client::open(node.socket());
    if (!client) return "";
    const auto reply = client->exchange("GET", "/metrics", std::nullopt, kAnswerTime);
    return reply && reply->status == 200 ? std::string(reply->body.as_string()) : "";
  }
  // Reloads until messages are dropped; every reload logs 1.5 KB. Returns the number of dropped
  // messages, or 0 if the daemon does not answer or drops none.
  std::uint64_t log_until_dropped() {
    node.folder().write("tangram.toml", kNeedsRestart);
    const std::string series = "\ntangram_log_dropped_total ";
    const auto until = std::chrono::steady_clock::now() + kTimeout;
    while (std::chrono::steady_clock::now() < until) {
      node.reload();
      const std::string text = metrics();
      if (text.empty()) return 0;
      const auto at = text.find(series);
      const std::uint64_t dropped =
          at == std::string::npos ? 0 : std::stoull(text.substr(at + series.size()));
      if (dropped > 0) return dropped;
    }
    return 0;
  }
  // Reads the log until `pattern` is in it; returns its first group, or "" if that takes too long.
  std::string read_log(const std::regex& pattern) {
    std::string text;
    pollfd readable{.fd = fifo_.get(), .events = POLLIN, .revents = 0};
    while (::poll(&readable, 1, static_cast<int>(kTimeout.count())) > 0) {
      char buffer[65'536];
      const ssize_t size = ::read(fifo_.get(), buffer, sizeof buffer);
      if (size > 0) text.append(buffer, static_cast<std::size_t>(size));
      std::smatch match;
      const std::string tail = text.substr(text.size() - std::min<std::size_t>(text.size(), 4'096));
      if (std::regex_search(tail, match, pattern)) return match[1];
    }
    return "";
  }

  Node node;

 private:
  os::Descriptor fifo_{-1};
};

TEST_F(StalledLog, DoesNotDelayAnswersOrTheEnd) {
  EXPECT_GT(log_until_dropped(), 0U);
  EXPECT_NE(metrics(), "");
  ::kill(node.pid(), SIGTERM);
  siginfo_t ended{};
  eventually(
      "the daemon ends",
      [&] {
        return ::waitid(P_PID, static_cast<id_t>(node.pid()), &ended,
                        WEXITED | WNOHANG | WNOWAIT) == 0 &&
               ended.si_pid == node.pid();
      },
      std::chrono::seconds(10));
  EXPECT_EQ(ended.si_code, CLD_EXITED);
  EXPECT_EQ(ended.si_status, 0);
}

TEST_F(StalledLog, ReportsWhatWasDroppedWhenItIsReadAgain) {
  ASSERT_GT(log_until_dropped(), 0U);
  EXPECT_NE(read_log(std::regex("([0-9]+) log messages? dropped")), "");
}

}  // namespace
}  // namespace tangram::tests
