// Starts a move and follows it to its end, for `tangram move` and `tangram defrag`. The result
// comes from the daemon's events, so a move that finishes between two polls is not missed. An
// interrupt ends the waiting, not the move.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <boost/json/value.hpp>

#include "api/job.hpp"
#include "api/move.hpp"
#include "base/error.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/signal_watch.hpp"

namespace tangram::cli {

struct StartedMove {
  boost::json::value reply;  // the job when the move started
  api::JobView job;          // the same, parsed
  std::uint64_t after = 0;   // the last event before the move
};

struct FinishedMove {
  std::string result;  // "done", "rolled-back", "taken-over"
  std::string text;    // the daemon's sentence
  api::SlotView to;    // the target slot
  std::chrono::microseconds took{0};

  [[nodiscard]] bool rolled_back() const { return result == "rolled-back"; }
};

[[nodiscard]] Result<StartedMove> start_move(const DaemonOptions& daemon, std::uint64_t job,
                                             const api::MoveRequest& request);
// Returns nullopt if a signal arrived before the end of the move.
[[nodiscard]] Result<std::optional<FinishedMove>> wait_for_move(const DaemonOptions& daemon,
                                                                const StartedMove& move,
                                                                const SignalWatch& signals);

// "0.8s", "2m05s"
[[nodiscard]] std::string elapsed_text(std::chrono::microseconds took);
[[nodiscard]] std::string slot_text(const api::SlotView& slot);  // "0@4"
// Prints to standard error that the move of `job` goes on although the wait was interrupted.
void report_move_continues(std::uint64_t job);

}  // namespace tangram::cli
