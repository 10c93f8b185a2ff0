// Waiting for a lease: how it stands is said now and then, and that there was no room is told from
// failure, so that scripts and schedulers know when to try again. One rule: whoever waits for more
// than a second knows for what.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "api/lease.hpp"
#include "base/error.hpp"
#include "http/client.hpp"

namespace tangram::cli {

// The exit code of a lease that may be had later, as sysexits.h has it (EX_TEMPFAIL).
inline constexpr int kTryLater = 75;

// Whether the daemon refused a lease only for now: there is no room, or the instance is not there
// yet.
[[nodiscard]] bool is_for_now(const Result<http::ClientReply>& reply);

// Says on standard error, in a thread, how a lease that is asked for with this key stands: after a
// second and every ten, if it is something new.
class LeaseTeller {
 public:
  LeaseTeller(std::string socket, const api::LeaseRequest& request);
  ~LeaseTeller();
  LeaseTeller(const LeaseTeller&) = delete;
  LeaseTeller& operator=(const LeaseTeller&) = delete;
  LeaseTeller(LeaseTeller&&) = delete;
  LeaseTeller& operator=(LeaseTeller&&) = delete;

 private:
  void watch();
  void look();

  std::string socket_;
  std::string target_;
  std::string said_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace tangram::cli
