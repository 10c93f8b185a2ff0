// Runs a command on a leased instance: renews the lease while the command runs and forwards signals
// to it. The caller releases the lease afterwards. While the daemon is away, renewals are retried
// and the command keeps running.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "api/lease.hpp"
#include "base/error.hpp"

namespace tangram::cli {

// Renews a lease on a thread, at a third of its time to live. When the lease has ended it reports
// that on standard error and sends SIGTERM to the process, which has lost its instance.
class LeaseRenewer {
 public:
  LeaseRenewer(std::string socket, const api::LeaseView& lease);
  ~LeaseRenewer();
  LeaseRenewer(const LeaseRenewer&) = delete;
  LeaseRenewer& operator=(const LeaseRenewer&) = delete;
  LeaseRenewer(LeaseRenewer&&) = delete;
  LeaseRenewer& operator=(LeaseRenewer&&) = delete;

  void start(pid_t process);

 private:
  void run();
  // Sets `pause` to the time until the next renewal. Returns false if the lease has ended.
  [[nodiscard]] bool renew_once(std::chrono::milliseconds& pause);

  std::string socket_;
  std::uint64_t id_;
  std::chrono::milliseconds ttl_;
  pid_t process_ = -1;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  std::thread thread_;
};

// Runs `command` with the lease's environment and returns its exit code, as a shell reports it: 128
// plus the signal that ended it, 126 or 127 if it cannot be started. Call before starting any
// thread.
[[nodiscard]] Result<int> run_on_lease(const std::string& socket, const api::LeaseView& lease,
                                       const std::vector<std::string>& command);

}  // namespace tangram::cli
