// MoveLoad: clients of a service while it is moved. Some keep their connection alive, some open one
// per request, some read a stream for seconds; every other client uses POST. Each answer must be
// complete and belong to its request; a stream must contain every token in order. Clients do not
// retry: a request that fails counts as a failure.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tangram::tests {

struct MoveLoadOptions {
  std::uint16_t port = 0;
  int keep_alive_clients = 8;
  int one_shot_clients = 4;          // a new connection for every request
  double requests_per_second = 700;  // of keep-alive and one-shot clients together
  int stream_clients = 50;           // one stream at a time each
  std::chrono::milliseconds shortest_stream{2'000};
  std::chrono::milliseconds longest_stream{8'000};
  double tokens_per_second = 20;  // what the service streams
};

class MoveLoad {
 public:
  explicit MoveLoad(const MoveLoadOptions& options);
  ~MoveLoad();  // stops
  MoveLoad(const MoveLoad&) = delete;
  MoveLoad& operator=(const MoveLoad&) = delete;
  MoveLoad(MoveLoad&&) = delete;
  MoveLoad& operator=(MoveLoad&&) = delete;

  // Sends no new requests and waits for those in flight. The counts are final afterwards.
  void stop();

  std::atomic<std::uint64_t> requests = 0;  // answered correctly
  std::atomic<std::uint64_t> streams = 0;   // read to their end
  std::atomic<std::uint64_t> tokens = 0;
  std::atomic<int> open_streams = 0;
  // How often a keep-alive client was answered by another run than the one that answered before.
  std::atomic<std::uint64_t> run_changes = 0;
  [[nodiscard]] std::uint64_t failures() const { return failures_; }
  // Descriptions of the first 20 failures.
  [[nodiscard]] std::vector<std::string> failure_messages() const;

 private:
  void run_keep_alive(int number);
  void run_one_shot(int number);
  void run_streams(int number);
  void add_failure(const std::string& message);

  MoveLoadOptions options_;
  std::atomic<bool> stopping_ = false;
  std::atomic<std::uint64_t> failures_ = 0;
  std::atomic<std::uint64_t> last_run_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> failure_messages_;
  std::vector<std::thread> threads_;
};

}  // namespace tangram::tests
