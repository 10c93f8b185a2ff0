// The daemon's events as they come, for `tangram events` and `tangram top`. A daemon that goes away
// and comes back is waited for, and the stream goes on after the last event. One rule: an event is
// given once, and none is left out without saying so.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "api/event.hpp"
#include "base/error.hpp"
#include "http/client.hpp"

namespace tangram::cli {

// Lets another thread end a stream.
class EventStop {
 public:
  void stop();

 private:
  friend class Following;
  // False: it was stopped before.
  [[nodiscard]] bool begin(http::Client& client);
  void end();

  std::mutex mutex_;
  http::Client* client_ = nullptr;
  bool stopped_ = false;
};

struct EventWish {
  std::string socket;
  std::optional<std::uint64_t> after;  // none: from now on
  bool follow = false;
  std::string job;                        // only of this one; empty: all
  std::string kinds;                      // "job,move.done"; empty: all
  std::chrono::milliseconds patience{0};  // with a daemon that is gone
  EventStop* stop = nullptr;
};

// What is given: an event, or the news that some are forgotten.
struct EventNews {
  api::EventView event;
  std::string json;  // of the event, as it came
  struct Gap {
    std::uint64_t after = 0;  // what came before
    std::uint64_t next = 0;   // what comes next
  };
  std::optional<Gap> gap;
};

// Until there are no more, `take` says false, or the patience is used up.
[[nodiscard]] Result<void> follow_events(const EventWish& wish,
                                         const std::function<bool(const EventNews&)>& take);

}  // namespace tangram::cli
