// A command that runs here on a leased instance: the lease is renewed as long as it runs, signals
// go to it, and the lease is released when it ends. One rule: whatever happens to the daemon, the
// command is neither hurried nor left without its lease for want of another attempt.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "api/lease.hpp"
#include "base/error.hpp"

namespace tangram::cli {

// Renews in a thread, at a third of the lease's time to live. When the lease is over it says so and
// sends SIGTERM to the process: the instance is no longer its own.
class Renewal {
 public:
  Renewal(std::string socket, const api::LeaseView& lease);
  ~Renewal();
  Renewal(const Renewal&) = delete;
  Renewal& operator=(const Renewal&) = delete;
  Renewal(Renewal&&) = delete;
  Renewal& operator=(Renewal&&) = delete;

  void start(pid_t process);

 private:
  void renew();
  // False: it is over.
  [[nodiscard]] bool once(std::chrono::milliseconds& pause);

  std::string socket_;
  std::uint64_t id_;
  std::chrono::milliseconds ttl_;
  pid_t process_ = -1;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  std::thread thread_;
};

// Runs it and gives its exit code: 128 and the signal if one ended it, 126 or 127 if it cannot be
// started, as a shell has it.
[[nodiscard]] Result<int> run_on_lease(const std::string& socket, const api::LeaseView& lease,
                                       const std::vector<std::string>& command);

}  // namespace tangram::cli
