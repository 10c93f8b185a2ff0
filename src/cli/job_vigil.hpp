// What `tangram run`, `submit` and `wait` share: giving the daemon a job, and waiting for one,
// both across a restart of the daemon. One rule: a job is made once, however often it was asked
// for, and no restart within the patience ends a wait.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "api/job.hpp"
#include "base/error.hpp"
#include "http/client.hpp"

namespace tangram::cli {

// What a verb that gives the exit code of a command exits with for a failure of Tangram's own, as
// env(1), timeout(1) and docker have it.
inline constexpr int kOwnFailure = 125;

// How long a daemon that is gone is waited for.
inline constexpr std::chrono::milliseconds kRestartPatience = std::chrono::seconds(30);

// The number of the new job. It is asked for with a key of its own, so that it can be asked for
// again when the daemon went away before it answered; `client` is then a new one.
[[nodiscard]] Result<std::uint64_t> submit_job(http::Client& client, const std::string& socket,
                                               const api::JobRequest& request);

class Vigil {
 public:
  using Clock = std::chrono::steady_clock;

  Vigil(std::string socket, http::Client client)
      : socket_(std::move(socket)), client_(std::move(client)) {}

  // The job when it is so ("running", "over"); none when the deadline has passed.
  [[nodiscard]] Result<std::optional<api::JobView>> until(
      std::uint64_t id, std::string_view what,
      std::optional<Clock::time_point> deadline = std::nullopt);

  // Called after a second and every ten with how it stands, until it is so.
  std::function<void(const api::JobView&)> meanwhile;

 private:
  [[nodiscard]] Result<void> reach(std::uint64_t id, const Error& error,
                                   std::optional<Clock::time_point> deadline);

  std::string socket_;
  http::Client client_;
  std::optional<Clock::time_point> broken_;  // since when there was no good answer
};

}  // namespace tangram::cli
