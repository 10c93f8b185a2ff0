// See child.hpp.
#include "child.hpp"

#include <csignal>
#include <cstdio>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.hpp"

namespace tangram::tests {
namespace {

constexpr int kPatienceMs = 30'000;
constexpr std::size_t kLongest = 65'536;

}  // namespace

Channel::~Channel() { close(fd_); }

void Channel::send(const std::string& message) const {
  CHECK(message.size() < kLongest);
  ::send(fd_, message.data(), message.size(), MSG_NOSIGNAL | MSG_EOR);
}

bool Channel::has_message() const {
  pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
  return poll(&waiting, 1, 0) == 1;
}

bool Channel::receive(std::string& message) const {
  pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
  CHECK(poll(&waiting, 1, kPatienceMs) == 1);
  message.resize(kLongest);
  const ssize_t size = recv(fd_, message.data(), message.size(), 0);
  message.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return size > 0;
}

std::string Channel::receive() const {
  std::string message;
  CHECK(receive(message));
  return message;
}

Child::Child(const std::function<int(Channel&)>& work) {
  int ends[2];
  CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  static_cast<void>(std::fflush(nullptr));  // else the child would print it again
  pid_ = fork();
  CHECK(pid_ >= 0);
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // if the test itself is killed
    close(ends[0]);
    Channel channel(ends[1]);
    const int code = work(channel);
    _exit(code);
  }
  close(ends[1]);
  channel_ = std::make_unique<Channel>(ends[0]);
}

Child::~Child() {
  if (pid_ != 0) kill();
}

std::string Child::request(const std::string& message) const {
  channel_->send(message);
  return channel_->receive();
}

void Child::kill(bool reap) {
  CHECK(::kill(pid_, SIGKILL) == 0);
  siginfo_t ended{};
  CHECK(waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOWAIT) == 0);
  if (reap) wait();
}

int Child::wait() {
  int status = 0;
  CHECK(waitpid(pid_, &status, 0) == pid_);
  pid_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int idle(Channel& channel) {
  channel.send("here");
  while (true) pause();
}

std::string in_child(const std::function<std::string()>& work) {
  Child child([&](Channel& channel) {
    channel.send(work() + "\n");  // so that the message is never empty
    return 0;
  });
  std::string answer;
  const bool answered = child.channel().receive(answer);
  child.wait();
  if (!answered) return "(the process died)";
  answer.pop_back();
  return answer;
}

}  // namespace tangram::tests
