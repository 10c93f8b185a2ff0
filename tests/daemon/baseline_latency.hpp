// BaselineLatency: measures the round trip to a thread that echoes a byte, from ten clients at the
// rate of ClientLoad's. It shows the latency of the machine itself while the daemon is measured,
// and needs so little time that it does not change the measurement.
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
#include "client_load.hpp"

namespace tangram::tests {

class BaselineLatency {
 public:
  BaselineLatency() {
    for (auto& pair : pairs_) {
      CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
    }
    echo_thread_ = std::jthread([this](const std::stop_token& stop) { echo(stop); });
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      client_threads_.emplace_back([this, i](const std::stop_token& stop) { measure(stop, i); });
    }
  }
  ~BaselineLatency() {
    end();
    for (const auto& pair : pairs_) {
      for (const int fd : pair) ::close(fd);
    }
  }
  BaselineLatency(const BaselineLatency&) = delete;
  BaselineLatency& operator=(const BaselineLatency&) = delete;
  BaselineLatency(BaselineLatency&&) = delete;
  BaselineLatency& operator=(BaselineLatency&&) = delete;

  // Stops the threads and returns what was measured, sorted.
  const Latencies& end() {
    client_threads_.clear();  // stops and joins them
    echo_thread_ = {};
    latencies_.sort();
    return latencies_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  void echo(const std::stop_token& stop) {
    std::array<pollfd, kClients> ready{};
    for (std::size_t i = 0; i < kClients; ++i) ready[i] = {pairs_[i][1], POLLIN, 0};
    char byte = 0;
    while (!stop.stop_requested()) {
      if (::poll(ready.data(), ready.size(), 100) <= 0) continue;
      for (const pollfd& each : ready) {
        if (each.revents == 0) continue;
        CHECK(::read(each.fd, &byte, 1) == 1 && ::write(each.fd, &byte, 1) == 1);
      }
    }
  }
  void measure(const std::stop_token& stop, std::size_t number) {
    std::vector<double> latencies;
    char byte = 'x';
    for (std::size_t i = number; !stop.stop_requested(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(40 + i * 7 % 20));
      const auto begun = Clock::now();
      CHECK(::write(pairs_[number][0], &byte, 1) == 1 && ::read(pairs_[number][0], &byte, 1) == 1);
      latencies.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begun).count());
    }
    latencies_.add(latencies);
  }

  static constexpr std::size_t kClients = 10;
  std::array<std::array<int, 2>, kClients> pairs_{};
  Latencies latencies_;
  std::jthread echo_thread_;
  std::vector<std::jthread> client_threads_;
};

}  // namespace tangram::tests
