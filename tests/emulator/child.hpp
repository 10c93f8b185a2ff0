// Child: another process of a test, forked, with a channel to talk over. It is killed at the end of
// its scope if it still lives. One rule: whoever waits here waits for something to happen, and
// gives up with the test after half a minute.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <sys/types.h>

namespace tangram::tests {

// One end of a connection; messages are whole or not at all.
class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) {}
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  Channel(Channel&&) = delete;
  Channel& operator=(Channel&&) = delete;

  void send(const std::string& message) const;
  // Whether receive() would not wait.
  [[nodiscard]] bool has_message() const;
  // False if the other end is gone.
  [[nodiscard]] bool receive(std::string& message) const;
  // Stops the test if the other end is gone.
  [[nodiscard]] std::string receive() const;

 private:
  int fd_;
};

class Child {
 public:
  // Runs `work` in a new process, which ends with what it returns.
  explicit Child(const std::function<int(Channel&)>& work);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Child(Child&&) = delete;
  Child& operator=(Child&&) = delete;

  [[nodiscard]] unsigned pid() const { return static_cast<unsigned>(pid_); }
  [[nodiscard]] const Channel& channel() const { return *channel_; }
  [[nodiscard]] std::string ask(const std::string& question) const;
  // SIGKILL, and until it is really gone; leaves a zombie if it is not reaped.
  void kill(bool reap = true);
  // The exit code, -1 after a signal.
  int wait();

 private:
  pid_t pid_ = 0;
  std::unique_ptr<Channel> channel_;
};

// A process that does nothing until it is killed.
[[nodiscard]] int idle(Channel& channel);

// What a function says in a process of its own.
[[nodiscard]] std::string in_child(const std::function<std::string()>& work);

}  // namespace tangram::tests
