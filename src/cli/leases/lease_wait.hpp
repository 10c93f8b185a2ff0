// Waiting for a lease: reports the state on standard error, and distinguishes "no free instance
// now" from failure, so that scripts know when to try again.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "api/lease.hpp"
#include "base/error.hpp"
#include "http/client/client.hpp"

namespace tangram::cli {

// The exit code for a lease that may be granted later: EX_TEMPFAIL of sysexits.h.
inline constexpr int kTryLater = 75;

// True if the daemon rejected a lease only for now: no free instance, or the instance is not ready.
[[nodiscard]] bool is_temporary_refusal(const Result<http::ClientReply>& reply);

// Prints the state of the requested lease on standard error from its own thread: after one second
// and then every ten, if it has changed.
class LeaseStatusPrinter {
 public:
  LeaseStatusPrinter(std::string socket, const api::LeaseRequest& request);
  ~LeaseStatusPrinter();
  LeaseStatusPrinter(const LeaseStatusPrinter&) = delete;
  LeaseStatusPrinter& operator=(const LeaseStatusPrinter&) = delete;
  LeaseStatusPrinter(LeaseStatusPrinter&&) = delete;
  LeaseStatusPrinter& operator=(LeaseStatusPrinter&&) = delete;

 private:
  void run();
  void print_state();

  std::string socket_;
  std::string target_;
  std::string printed_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace tangram::cli
