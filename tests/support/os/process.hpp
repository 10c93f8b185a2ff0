// For tests of programs: starts one, reads its ready line, waits for its exit. Every wait has a
// deadline.
#pragma once

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <functional>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/check.hpp"
#include "os/descriptor.hpp"

namespace tangram::os::testing {

// Polls until `is_true` holds; false if it does not within 30 s.
inline bool eventually(const std::function<bool()>& is_true) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!is_true()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// Starts a program: `words` is its path and arguments; `before` runs in the child before exec.
[[nodiscard]] inline pid_t spawn(std::vector<std::string> words,
                                 const std::function<void()>& before = {}) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (before) before();
    ::execv(pointers[0], pointers.data());
    ::_exit(99);
  }
  CHECK(pid > 0);
  return pid;
}

// Waits for a child; returns its exit code, or 128 + signal number. nullopt: it did not end in time
// and was killed.
inline std::optional<int> wait_for_end(pid_t pid) {
  int status = 0;
  if (!eventually([&] { return ::waitpid(pid, &status, WNOHANG) == pid; })) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return std::nullopt;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// A pipe for a program's --ready-fd, on which it reports that it is ready or has failed.
class ReadyPipe {
 public:
  ReadyPipe() {
    int ends[2];
    CHECK(::pipe2(ends, 0) == 0);
    ::fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    read_end_ = Descriptor(ends[0]);
    write_end_ = Descriptor(ends[1]);
  }
  [[nodiscard]] std::vector<std::string> arguments() const {
    return {"--ready-fd", std::to_string(write_end_.get())};
  }
  // Call after the program was started: everything it writes until it closes the pipe.
  [[nodiscard]] std::string read() {
    {
      const Descriptor closed = std::move(write_end_);
    }
    std::string line;
    char buffer[4096];
    for (ssize_t n = 0; (n = ::read(read_end_.get(), buffer, sizeof(buffer))) > 0;) {
      line.append(buffer, static_cast<std::size_t>(n));
    }
    return line;
  }

 private:
  Descriptor read_end_{-1};
  Descriptor write_end_{-1};
};

}  // namespace tangram::os::testing
