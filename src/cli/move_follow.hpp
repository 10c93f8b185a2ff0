// A move that is asked for and followed to its end, for `tangram move` and `tangram defrag`. How it
// ends is told by the daemon's events, so that a move that is over sooner than anybody looks is not
// missed. One rule: interrupting it ends the following, not the move.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <boost/json/value.hpp>

#include "api/job.hpp"
#include "api/move.hpp"
#include "base/error.hpp"
#include "cli/daemon_link.hpp"
#include "cli/signal_watch.hpp"

namespace tangram::cli {

struct BegunMove {
  boost::json::value answer;  // the job as it was when the move began
  api::JobView job;           // the same, read
  std::uint64_t after = 0;    // the number of the last event before it
};

struct EndedMove {
  std::string result;  // "done", "rolled-back", "taken-over"
  std::string text;    // the daemon's sentence
  api::SlotView to;    // where it went, or would have gone
  std::chrono::microseconds took{0};

  [[nodiscard]] bool rolled_back() const { return result == "rolled-back"; }
};

[[nodiscard]] Result<BegunMove> begin_move(const DaemonOptions& daemon, std::uint64_t job,
                                           const api::MoveRequest& wish);
// None: a signal came before its end.
[[nodiscard]] Result<std::optional<EndedMove>> await_end(const DaemonOptions& daemon,
                                                         const BegunMove& move,
                                                         const SignalWatch& signals);

// "0.8s", "2m05s"
[[nodiscard]] std::string took_text(std::chrono::microseconds took);
[[nodiscard]] std::string slot_text(const api::SlotView& slot);  // "0@4"
void say_it_goes_on(std::uint64_t job);

}  // namespace tangram::cli
