// Copies a job's output to a descriptor while it is written. After a restart of the daemon the copy
// continues at the same byte: nothing is lost or written twice.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "http/client/client.hpp"

namespace tangram::cli {

struct LogQuery {
  std::string socket;
  std::uint64_t job = 0;
  std::string stream = "stdout";
  bool follow = false;
  std::optional<std::uint64_t> tail;
  std::chrono::milliseconds reconnect_time{0};  // how long to try to reconnect
};

// Returns at the end of the log, or when the reader of the descriptor is gone.
[[nodiscard]] Result<void> copy_log(const LogQuery& query, int descriptor);

// Sleeps 0.2 s.
void pause_between_attempts();

// Retries until a connection is made; returns the last error after `reconnect_time`.
[[nodiscard]] Result<http::Client> reconnect(const std::string& socket,
                                             std::chrono::milliseconds reconnect_time);

}  // namespace tangram::cli
