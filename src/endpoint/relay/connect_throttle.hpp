// ConnectThrottle: limits concurrent connection attempts to the replica. When a replica becomes
// available, all waiting exchanges want to connect at the same moment. A full listen backlog drops
// SYNs, and the kernel retransmits those only after one second, then two. So at most kMaxConcurrent
// attempts run at once, the others queue in FIFO order, and unanswered attempts are restarted
// early.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace tangram::endpoint {

class Connector;

class ConnectThrottle {
 public:
  static constexpr std::size_t kMaxConcurrent = 64;

  explicit ConnectThrottle(boost::asio::io_context& loop) : check_timer_(loop) {}

  // Acquires a slot for the connector. True: it may start an attempt now (or another one, if it
  // has a slot already). False: it is queued, and its on_slot() is called when it has one.
  [[nodiscard]] bool try_acquire(Connector& connector);
  // Frees the connector's slot or removes it from the queue: it is connected, or has stopped.
  void release(Connector& connector);

  // A connector's position in the throttle; stored in the connector.
  struct Slot {
    enum class State { kNone, kWaiting, kActive };
    State state = State::kNone;
    std::list<Connector*>::iterator at{};
  };

 private:
  void put(Connector& connector, Slot::State state);
  void admit_waiting();
  void schedule_check();
  void restart_unanswered(std::chrono::steady_clock::time_point now);

  std::list<Connector*> active_;  // oldest attempt first
  std::list<Connector*> waiting_;
  boost::asio::steady_timer check_timer_;
  bool is_check_scheduled_ = false;
  bool is_admitting_ = false;
};

}  // namespace tangram::endpoint
