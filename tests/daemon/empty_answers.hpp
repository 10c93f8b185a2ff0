// EmptyAnswers: how long an exchange takes on this machine while it is measured, if nobody does
// anything for it: a thread that sends back the byte it gets, and some who ask it as often as the
// callers of a crowd do. What a daemon takes beyond that is its own. One rule: it costs next to
// nothing, so that it does not change what it is compared with.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/check.hpp"
#include "crowd.hpp"

namespace tangram::tests {

class EmptyAnswers {
 public:
  EmptyAnswers() {
    for (auto& pair : pairs_) {
      CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
    }
    answering_ = std::jthread([this](const std::stop_token& stop) { answer(stop); });
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      asking_.emplace_back([this, i](const std::stop_token& stop) { ask(stop, i); });
    }
  }
  ~EmptyAnswers() {
    end();
    for (const auto& pair : pairs_) {
      for (const int fd : pair) ::close(fd);
    }
  }
  EmptyAnswers(const EmptyAnswers&) = delete;
  EmptyAnswers& operator=(const EmptyAnswers&) = delete;
  EmptyAnswers(EmptyAnswers&&) = delete;
  EmptyAnswers& operator=(EmptyAnswers&&) = delete;

  // What it took until now.
  const Latencies& end() {
    asking_.clear();  // stops and awaits them
    answering_ = {};
    times_.sort();
    return times_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  void answer(const std::stop_token& stop) {
    std::array<pollfd, kAskers> ready{};
    for (std::size_t i = 0; i < kAskers; ++i) ready[i] = {pairs_[i][1], POLLIN, 0};
    char byte = 0;
    while (!stop.stop_requested()) {
      if (::poll(ready.data(), ready.size(), 100) <= 0) continue;
      for (const pollfd& each : ready) {
        if (each.revents == 0) continue;
        CHECK(::read(each.fd, &byte, 1) == 1 && ::write(each.fd, &byte, 1) == 1);
      }
    }
  }
  void ask(const std::stop_token& stop, std::size_t number) {
    std::vector<double> mine;
    char byte = 'x';
    for (std::size_t i = number; !stop.stop_requested(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(40 + i * 7 % 20));
      const auto begun = Clock::now();
      CHECK(::write(pairs_[number][0], &byte, 1) == 1 && ::read(pairs_[number][0], &byte, 1) == 1);
      mine.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begun).count());
    }
    times_.add(mine);
  }

  static constexpr std::size_t kAskers = 10;
  std::array<std::array<int, 2>, kAskers> pairs_{};
  Latencies times_;
  std::jthread answering_;
  std::vector<std::jthread> asking_;
};

}  // namespace tangram::tests
