// For tests of programs: starting one, hearing that it is ready, waiting for its end. One rule:
// nothing is waited for without a deadline.
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
#include "files/descriptor.hpp"

namespace tangram::files::testing {

// Whether it came true in time.
inline bool eventually(const std::function<bool()>& is_true) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!is_true()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// The program and its arguments; `before` runs in the new process first.
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

// How a child ended (of a signal: 128 and its number); none: not in time, so it was killed.
inline std::optional<int> wait_for_end(pid_t pid) {
  int status = 0;
  if (!eventually([&] { return ::waitpid(pid, &status, WNOHANG) == pid; })) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return std::nullopt;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// What a program with --ready-fd says once it is ready or could not get there.
class ReadyPipe {
 public:
  ReadyPipe() {
    int ends[2];
    CHECK(::pipe2(ends, 0) == 0);
    ::fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    ours_ = Descriptor(ends[0]);
    its_ = Descriptor(ends[1]);
  }
  [[nodiscard]] std::vector<std::string> arguments() const {
    return {"--ready-fd", std::to_string(its_.get())};
  }
  // After the program was started: all that it says until it closes its end.
  [[nodiscard]] std::string hear() {
    {
      const Descriptor closed = std::move(its_);
    }
    std::string line;
    char buffer[4096];
    for (ssize_t n = 0; (n = ::read(ours_.get(), buffer, sizeof(buffer))) > 0;) {
      line.append(buffer, static_cast<std::size_t>(n));
    }
    return line;
  }

 private:
  Descriptor ours_{-1};
  Descriptor its_{-1};
};

}  // namespace tangram::files::testing
