// The daemon's event stream, for `tangram events` and `tangram top`. After a restart of the daemon
// it reconnects and continues after the last event. Each event is delivered once; missing events
// are reported as a gap.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "api/event.hpp"
#include "base/error.hpp"
#include "http/client/client.hpp"

namespace tangram::cli {

// Ends a stream from another thread.
class EventStop {
 public:
  void stop();

 private:
  friend class EventFollower;
  // Registers the client to abort. Returns false if stop() was called before.
  [[nodiscard]] bool begin(http::Client& client);
  void end();

  std::mutex mutex_;
  http::Client* client_ = nullptr;
  bool stopped_ = false;
};

struct EventQuery {
  std::string socket;
  std::optional<std::uint64_t> after;  // nullopt: only new events
  bool follow = false;
  std::string job;                              // only of this job; empty: all
  std::string kinds;                            // e.g. "job,move.done"; empty: all
  std::chrono::milliseconds reconnect_time{0};  // how long to try to reconnect
  EventStop* stop = nullptr;
};

// An event, or a gap: events that the daemon no longer has.
struct StreamItem {
  api::EventView event;
  std::string json;  // the event as received
  struct Gap {
    std::uint64_t after = 0;  // the last event before the gap
    std::uint64_t next = 0;   // the first event after it
  };
  std::optional<Gap> gap;
};

// Calls `on_item` for each item on the calling thread. Returns when there are no more events, when
// `on_item` returns false, after EventStop::stop(), or with an error if the daemon cannot be
// reached again within `reconnect_time`.
[[nodiscard]] Result<void> follow_events(const EventQuery& query,
                                         const std::function<bool(const StreamItem&)>& on_item);

}  // namespace tangram::cli
