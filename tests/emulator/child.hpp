// Child: a forked process of a test, with a channel to it. It is killed at the end of its scope.
// Every wait has a deadline of half a minute, after which the test process aborts.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <sys/types.h>

namespace tangram::tests {

// One end of a connection. Messages are received completely or not at all.
class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) {}
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  Channel(Channel&&) = delete;
  Channel& operator=(Channel&&) = delete;

  void send(const std::string& message) const;
  // Returns whether receive() would not block.
  [[nodiscard]] bool has_message() const;
  // Returns false if the other end is closed.
  [[nodiscard]] bool receive(std::string& message) const;
  // Aborts the test if the other end is closed.
  [[nodiscard]] std::string receive() const;

 private:
  int fd_;
};

class Child {
 public:
  // Runs `work` in a new process, which exits with its result.
  explicit Child(const std::function<int(Channel&)>& work);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Child(Child&&) = delete;
  Child& operator=(Child&&) = delete;

  [[nodiscard]] unsigned pid() const { return static_cast<unsigned>(pid_); }
  [[nodiscard]] const Channel& channel() const { return *channel_; }
  [[nodiscard]] std::string request(const std::string& message) const;
  // Sends SIGKILL and waits until the process is gone; without `reap` it stays a zombie.
  void kill(bool reap = true);
  // Waits for the process; returns the exit code, -1 after a signal.
  int wait();

 private:
  pid_t pid_ = 0;
  std::unique_ptr<Channel> channel_;
};

// The work of a process that does nothing until it is killed.
[[nodiscard]] int idle(Channel& channel);

// Runs `work` in a process of its own and returns its result.
[[nodiscard]] std::string in_child(const std::function<std::string()>& work);

}  // namespace tangram::tests
