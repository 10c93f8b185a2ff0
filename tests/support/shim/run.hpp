// For tests: a run in a temporary folder, executed by the real tangram-shim with real processes,
// and a client of its control socket. All waits have a deadline, and all processes are killed at
// the end.
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include "api/run_spec.hpp"
#include "base/check.hpp"
#include "base/text.hpp"
#include "os/descriptor.hpp"
#include "shim/processes.hpp"
#include "shim/run_folder.hpp"
#include "tests/support/os/folder.hpp"
#include "tests/support/os/process.hpp"

namespace tangram::shim::testing {

inline constexpr std::chrono::seconds kDeadline{30};

using os::testing::eventually;

// Zombies count as gone: their parent may reap them late.
inline bool is_gone(pid_t pid) {
  const auto process = find_process(pid);
  return !process || !process->is_alive;
}

inline std::vector<Process> live_processes(const RunMark& mark) {
  const auto found = processes_of(mark);
  EXPECT_TRUE(found) << found.error().message;
  return found ? *found : std::vector<Process>();
}

class Client {
 public:
  explicit Client(const std::string& folder) {
    auto connection = connect_control(folder);
    if (connection) socket_ = *std::move(connection);
  }
  [[nodiscard]] bool ok() const { return socket_.ok(); }
  [[nodiscard]] int fd() const { return socket_.get(); }

  bool send(std::string line) {
    line += '\n';
    while (!line.empty()) {
      pollfd polled{.fd = socket_.get(), .events = POLLOUT, .revents = 0};
      if (::poll(&polled, 1, 30'000) != 1) return false;
      const ssize_t count = ::send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL);
      if (count < 0) return false;
      line.erase(0, static_cast<std::size_t>(count));
    }
    return true;
  }
  // The next line; nullopt at the end of the stream or after kDeadline.
  std::optional<boost::json::object> next() {
    const auto deadline = std::chrono::steady_clock::now() + kDeadline;
    while (received_.find('\n') == std::string::npos) {
      if (std::chrono::steady_clock::now() > deadline) return std::nullopt;
      pollfd polled{.fd = socket_.get(), .events = POLLIN, .revents = 0};
      if (::poll(&polled, 1, 1'000) != 1) continue;
      char buffer[4096];
      const ssize_t count = ::recv(socket_.get(), buffer, sizeof(buffer), 0);
      if (count <= 0) return std::nullopt;
      received_.append(buffer, static_cast<std::size_t>(count));
    }
    const std::size_t end = received_.find('\n');
    const auto document = boost::json::parse(received_.substr(0, end));
    received_.erase(0, end + 1);
    return document.as_object();
  }
  // Skips lines until one has the key.
  std::optional<boost::json::object> next_with(std::string_view key) {
    while (auto line = next()) {
      if (line->contains(key)) return line;
    }
    return std::nullopt;
  }
  bool reaches(std::string_view state) {
    while (auto line = next_with("state")) {
      if (line->at("state").as_string() == state) return true;
    }
    return false;
  }

 private:
  os::Descriptor socket_{-1};
  std::string received_;
};

class TestRun {
 public:
  explicit TestRun(std::vector<std::string> command) : folder_(base_.at("run")) {
    static std::atomic<int> count = 0;
    spec.job = 1;
    spec.tag = cat("test-", ::getpid(), "/", ++count);
    spec.command = std::move(command);
    spec.environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}};
    spec.directory = "/";
    spec.grace = std::chrono::seconds(20);
  }
  // Runs `script` in a shell.
  explicit TestRun(const std::string& script)
      : TestRun(std::vector<std::string>{"sh", "-c", script}) {}
  ~TestRun() {
    if (shim_ > 0) {
      ::kill(shim_, SIGKILL);
      ::waitpid(shim_, nullptr, 0);
    }
    const RunMark mark{.tag = spec.tag, .uid = user_of(spec), .cgroup = spec.cgroup};
    EXPECT_TRUE(kill_all(mark, kDeadline).all_gone);
  }
  TestRun(const TestRun&) = delete;
  TestRun& operator=(const TestRun&) = delete;
  TestRun(TestRun&&) = delete;
  TestRun& operator=(TestRun&&) = delete;

  void prepare() {
    const auto prepared = prepare_folder(folder_, spec);
    ASSERT_TRUE(prepared) << prepared.error().message;
  }
  // Starts another shim on the same folder.
  [[nodiscard]] pid_t spawn(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{TANGRAM_SHIM, folder_};
    words.insert(words.end(), more.begin(), more.end());
    return os::testing::spawn(std::move(words), before_shim);
  }
  // Starts the run and waits until the job runs or has failed. Returns the last line on the ready
  // descriptor.
  std::string start() {
    prepare();
    return start_prepared();
  }
  std::string start_prepared() {
    os::testing::ReadyPipe ready;
    shim_ = spawn(ready.arguments());
    std::string lines = ready.read();
    const std::size_t last = lines.empty() ? 0 : lines.rfind('\n', lines.size() - 2) + 1;
    return lines.substr(last);
  }
  // Waits until the shim exits.
  ShimExit wait() {
    const auto code = wait_for(std::exchange(shim_, 0));
    EXPECT_TRUE(code.has_value()) << "the shim did not end in time";
    return static_cast<ShimExit>(code.value_or(-1));
  }
  static std::optional<int> wait_for(pid_t pid) { return os::testing::wait_for_end(pid); }
  api::ExitRecord record() {
    EXPECT_EQ(wait(), ShimExit::kDone);
    const auto record = read_exit(folder_);
    EXPECT_TRUE(record && *record) << (record ? "none" : record.error().message);
    return record && *record ? **record : api::ExitRecord{};
  }
  api::ExitRecord run() {
    start();
    return record();
  }

  [[nodiscard]] Client client() const { return Client(folder_); }
  [[nodiscard]] std::string output(std::string_view name = "stdout.log") const {
    return base_.read(cat("run/", name));
  }
  [[nodiscard]] bool prints(std::string_view text) const {
    return eventually([&] { return output().find(text) != std::string::npos; });
  }
  // The pid that the job writes to the file `name` in base().
  [[nodiscard]] pid_t pid_in(const std::string& name) const {
    std::optional<int> pid;
    eventually([&] {
      const std::string text = base_.has(name) ? base_.read(name) : "";
      if (!text.ends_with('\n')) return false;
      pid = parse_int(std::string_view(text).substr(0, text.size() - 1), 1, 1 << 30);
      return true;
    });
    EXPECT_TRUE(pid) << name;
    return pid.value_or(-1);
  }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] const os::testing::Folder& base() const { return base_; }
  [[nodiscard]] pid_t shim() const { return shim_; }
  // The test has reaped the shim.
  void forget_shim() { shim_ = 0; }

  api::RunSpec spec;
  std::function<void()> before_shim;  // runs in the shim's process before exec

 private:
  os::testing::Folder base_;
  std::string folder_;
  pid_t shim_ = 0;
};

}  // namespace tangram::shim::testing
