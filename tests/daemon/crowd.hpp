// A crowd at the daemon's door: many callers who submit, cancel, look and follow events at once,
// for the benchmark (crowd_main.cpp) and, smaller and without a clock, for a test. One rule:
// whatever a caller is refused, and whatever a follower misses, is counted as an error.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "base/error.hpp"
#include "http/client.hpp"
#include "node.hpp"

namespace tangram::tests {

class Latencies {
 public:
  void add(const std::vector<double>& mine);
  void sort();
  [[nodiscard]] std::size_t count() const { return all_.size(); }
  [[nodiscard]] double at(double part) const;  // once sorted; milliseconds

 private:
  std::mutex mutex_;
  std::vector<double> all_;
};

class Crowd {
 public:
  // How a caller comes in.
  using Entry = std::function<Result<http::Client>()>;
  Crowd(Node& node, Entry enter, std::uint64_t jobs)
      : node_(node), enter_(std::move(enter)), jobs_(jobs) {}

  // So many callers for so long, every tenth of whom follows events to the last there is. There are
  // jobs 1 to `jobs`, which nobody touches; what is submitted is cancelled.
  void come(std::uint64_t callers, std::chrono::milliseconds time);

  // So many events each follower had to read.
  [[nodiscard]] std::uint64_t span() const { return goal_ - begun_after_; }

  Latencies looks;
  std::atomic<std::uint64_t> requests = 0;
  std::atomic<std::uint64_t> events = 0;
  std::atomic<std::uint64_t> followers = 0;  // that have read to the end
  std::atomic<std::uint64_t> errors = 0;

 private:
  using Clock = std::chrono::steady_clock;
  void failed(const std::string& why);
  void call(std::uint64_t number, Clock::time_point until);
  void submit_and_cancel(http::Client& client);
  void follow();
  [[nodiscard]] std::uint64_t last_event();

  Node& node_;
  Entry enter_;
  std::uint64_t jobs_;
  std::uint64_t begun_after_ = 0;                        // the last event there was
  std::atomic<std::uint64_t> goal_ = ~std::uint64_t{0};  // of followers: the last event there is
};

}  // namespace tangram::tests
