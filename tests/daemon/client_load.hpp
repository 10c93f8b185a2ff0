// ClientLoad: many clients that submit, cancel, query and follow events at once; for the benchmark
// (client_load_main.cpp) and, smaller and without time limits, for a test. Every refused request
// and every event that a follower misses counts as an error.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "base/error.hpp"
#include "http/client/client.hpp"
#include "node.hpp"

namespace tangram::tests {

class Latencies {
 public:
  void add(const std::vector<double>& milliseconds);  // thread-safe
  void sort();
  [[nodiscard]] std::size_t count() const { return all_.size(); }
  // In milliseconds, after sort(); `quantile`: 0.5 is the median, 1 the maximum.
  [[nodiscard]] double at(double quantile) const;

 private:
  std::mutex mutex_;
  std::vector<double> all_;
};

class ClientLoad {
 public:
  using Connect = std::function<Result<http::Client>()>;
  // `connect` opens a client's connection. `jobs`: jobs 1 to `jobs` exist and are left alone.
  ClientLoad(Node& node, Connect connect, std::uint64_t jobs)
      : node_(node), connect_(std::move(connect)), jobs_(jobs) {}

  // Runs `clients` clients for `duration`. Every tenth follows events until the last one; the
  // others query jobs, and submit some, which they cancel.
  void run(std::uint64_t clients, std::chrono::milliseconds duration);

  // The number of events that each follower had to read.
  [[nodiscard]] std::uint64_t events_per_follower() const { return last_event_ - first_after_; }

  Latencies job_latencies;  // of GET /v1/jobs/{id}
  std::atomic<std::uint64_t> requests = 0;
  std::atomic<std::uint64_t> events = 0;
  std::atomic<std::uint64_t> followers = 0;  // that read all events
  std::atomic<std::uint64_t> errors = 0;

 private:
  using Clock = std::chrono::steady_clock;
  void add_error(const std::string& message);
  void run_client(std::uint64_t number, Clock::time_point until);
  void submit_and_cancel(http::Client& client);
  void follow_events();
  [[nodiscard]] std::uint64_t read_last_event();

  Node& node_;
  Connect connect_;
  std::uint64_t jobs_;
  std::uint64_t first_after_ = 0;  // the last event before run()
  // The last event that followers have to read; unknown until the clients have ended.
  std::atomic<std::uint64_t> last_event_ = ~std::uint64_t{0};
};

}  // namespace tangram::tests
