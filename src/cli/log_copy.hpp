// LogCopy: a job's output written to a descriptor as it comes. A daemon that goes away and comes
// back (an upgrade) is waited for, and the copy goes on at the very byte. One rule: a byte is
// written once.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "http/client.hpp"

namespace tangram::cli {

struct LogWish {
  std::string socket;
  std::uint64_t job = 0;
  std::string stream = "stdout";
  bool follow = false;
  std::optional<std::uint64_t> tail;
  std::chrono::milliseconds patience{0};  // with a daemon that is gone
};

// Until the end of the log, or until nobody reads the descriptor any more.
[[nodiscard]] Result<void> copy_log(const LogWish& wish, int descriptor);

void pause_between_attempts();

// A connection, as soon as somebody listens again; the last error when the patience is used up.
[[nodiscard]] Result<http::Client> reconnect(const std::string& socket,
                                             std::chrono::milliseconds patience);

}  // namespace tangram::cli
