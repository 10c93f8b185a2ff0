// What `tangram run`, `submit` and `wait` share: submitting a job and waiting for one, across
// restarts of the daemon. A retried submission creates one job; a wait survives any restart that
// takes no longer than kReconnectTime.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/job.hpp"
#include "base/error.hpp"
#include "http/client/client.hpp"

namespace tangram::cli {

// Exit code for a failure of Tangram itself, for verbs that otherwise exit with the code of a
// command (as env(1), timeout(1) and docker).
inline constexpr int kOwnFailure = 125;

// How long to try to reconnect to the daemon.
inline constexpr std::chrono::milliseconds kReconnectTime = std::chrono::seconds(30);

struct SubmittedJob {
  std::uint64_t id = 0;
  std::string move;  // how it may be moved: "never", "replica"; empty: an older daemon does not say
  std::uint64_t first = 0;  // of an array: the job of its first task
  std::uint64_t tasks = 0;  // 0: not an array
};

// Submits a job. Uses an idempotency key, so the request can be repeated if
// the daemon goes away before it replies; `client` is then replaced by a new connection.
[[nodiscard]] Result<SubmittedJob> submit_job(http::Client& client, const std::string& socket,
                                              const api::JobRequest& request);

// Waits for jobs over one connection, which it renews after a restart of the daemon.
class JobWaiter {
 public:
  using Clock = std::chrono::steady_clock;

  JobWaiter(std::string socket, http::Client client)
      : socket_(std::move(socket)), client_(std::move(client)) {}

  // The jobs that were named on the command line, arrays replaced by their tasks; nullopt after
  // `deadline`, without a daemon.
  [[nodiscard]] Result<std::optional<std::vector<std::uint64_t>>> find_jobs(
      const std::vector<std::string>& named, std::optional<Clock::time_point> deadline);

  // Waits until the job is `state` ("running" or "over") and returns it; nullopt after `deadline`.
  [[nodiscard]] Result<std::optional<api::JobView>> wait_until(
      std::uint64_t id, std::string_view state,
      std::optional<Clock::time_point> deadline = std::nullopt);

  // Called with the job after one second and then every ten until the wait ends. May be empty.
  std::function<void(const api::JobView&)> on_waiting;

 private:
  [[nodiscard]] Result<void> recover(const Error& error, std::optional<Clock::time_point> deadline);

  std::string socket_;
  http::Client client_;
  std::optional<Clock::time_point> failing_since_;
};

}  // namespace tangram::cli
