// BackgroundProcess: a program that runs beside the test, with its output in files, so that it can
// be read, signalled and waited for. It is killed when the object is destroyed.
#pragma once

#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "base/check.hpp"
#include "tests/support/os/folder.hpp"

namespace tangram::tests {

class BackgroundProcess {
 public:
  // `command`: the program and its arguments. `variables`: its environment, "NAME=value" each, in
  // addition to LC_ALL, TERM and PATH.
  BackgroundProcess(std::vector<std::string> command, std::vector<std::string> variables) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    const int flags = O_WRONLY | O_CREAT | O_APPEND;
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, folder_.at("out").c_str(), flags, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, folder_.at("err").c_str(), flags, 0600);
    variables.insert(variables.end(), {"LC_ALL=C.UTF-8", "TERM=xterm", "PATH=/usr/bin:/bin"});
    const int failed = ::posix_spawn(&pid_, command[0].c_str(), &actions, nullptr,
                                     pointers(command).data(), pointers(variables).data());
    posix_spawn_file_actions_destroy(&actions);
    CHECK(failed == 0);
  }
  ~BackgroundProcess() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  BackgroundProcess(const BackgroundProcess&) = delete;
  BackgroundProcess& operator=(const BackgroundProcess&) = delete;
  BackgroundProcess(BackgroundProcess&&) = delete;
  BackgroundProcess& operator=(BackgroundProcess&&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int signal) const { ::kill(pid_, signal); }
  // Waits for its end and returns its exit code, or 128 + N if signal N ended it.
  int wait() {
    int status = 0;
    CHECK(::waitpid(pid_, &status, 0) == pid_);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  [[nodiscard]] std::string out() const { return folder_.read("out"); }
  [[nodiscard]] std::string err() const { return folder_.read("err"); }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (std::string& text : texts) all.push_back(text.data());
    all.push_back(nullptr);
    return all;
  }

  os::testing::Folder folder_;
  pid_t pid_ = -1;
};

}  // namespace tangram::tests
