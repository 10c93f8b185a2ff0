// Background: a program that runs beside the test, with its output in files, so that it can be
// looked at, signalled and waited for. One rule: it does not outlive its owner.
#pragma once

#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "base/check.hpp"
#include "files/test_folder.hpp"

namespace tangram::tests {

class Background {
 public:
  Background(std::vector<std::string> words, std::vector<std::string> variables) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    const int flags = O_WRONLY | O_CREAT | O_APPEND;
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, folder_.at("out").c_str(), flags, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, folder_.at("err").c_str(), flags, 0600);
    variables.insert(variables.end(), {"LC_ALL=C.UTF-8", "TERM=xterm", "PATH=/usr/bin:/bin"});
    const int failed = ::posix_spawn(&pid_, words[0].c_str(), &actions, nullptr,
                                     pointers(words).data(), pointers(variables).data());
    posix_spawn_file_actions_destroy(&actions);
    CHECK(failed == 0);
  }
  ~Background() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  Background(Background&&) = delete;
  Background& operator=(Background&&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int signal) const { ::kill(pid_, signal); }
  // Its exit code, 128 and the signal if one ended it.
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

  files::testing::Folder folder_;
  pid_t pid_ = -1;
};

}  // namespace tangram::tests
