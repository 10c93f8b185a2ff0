// Visitors: clients of a service while it is moved about. Some keep their connection, some open one
// per request, some listen to a stream for seconds; every other one POSTs. What each was told is
// checked: the answer to the very question, once, whole; the tokens of a stream from the first to
// the last. One rule: nobody asks twice: what fails has failed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tangram::tests {

struct VisitorsOptions {
  std::uint16_t port = 0;
  int keeping = 8;                            // connections that are kept alive
  int passing = 4;                            // who come anew for every request
  double requests_per_second = 700;           // of all of them together
  int listening = 50;                         // streams at a time
  std::chrono::milliseconds shortest{2'000};  // of a stream
  std::chrono::milliseconds longest{8'000};
  double tokens_per_second = 20;  // that the service streams
};

class Visitors {
 public:
  explicit Visitors(const VisitorsOptions& options);
  ~Visitors();
  Visitors(const Visitors&) = delete;
  Visitors& operator=(const Visitors&) = delete;
  Visitors(Visitors&&) = delete;
  Visitors& operator=(Visitors&&) = delete;

  // No new request; whatever is under way ends. Then the figures stand still.
  void stop();

  std::atomic<std::uint64_t> requests = 0;  // answered as they should be
  std::atomic<std::uint64_t> streams = 0;   // heard to their end
  std::atomic<std::uint64_t> tokens = 0;
  std::atomic<int> listening = 0;         // streams now
  std::atomic<std::uint64_t> places = 0;  // how often an answer came from another run than the last
  // Of all that was wrong, the first few in words.
  [[nodiscard]] std::vector<std::string> complaints() const;
  [[nodiscard]] std::uint64_t failures() const { return failures_; }

 private:
  void keep(int number);
  void pass(int number);
  void listen(int number);
  void complain(const std::string& what);

  VisitorsOptions options_;
  std::atomic<bool> stopping_ = false;
  std::atomic<std::uint64_t> failures_ = 0;
  std::atomic<std::uint64_t> last_run_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> complaints_;
  std::vector<std::thread> threads_;
};

}  // namespace tangram::tests
