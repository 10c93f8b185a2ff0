// KeepAlivePool: idle keep-alive connections to the current replica, for reuse by later requests.
// A connection stays at most kMaxIdle, well below the idle timeout of common servers, and none
// survives a change of route. Used on the endpoint's event loop only.
//
// Non-idempotent requests must not be retried, so they need a connection that the replica will not
// close at the moment of reuse. To learn the replica's behaviour, its first idle connection becomes
// a probe: it is not reused but watched for kMaxIdle. If the replica leaves it open, its idle
// timeout is longer than any pooled connection's age. If the replica closes the probe, or any other
// idle connection without announcing it, only idempotent requests reuse connections until the route
// changes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "endpoint/net/socket.hpp"

namespace tangram::endpoint {

class KeepAlivePool final : public Socket::Owner {
 public:
  static constexpr std::chrono::milliseconds kMaxIdle{1'000};
  // Limit for reuse by non-idempotent requests; half of what the probe has shown to be safe.
  static constexpr std::chrono::milliseconds kMaxIdleForNonIdempotent{500};
  static constexpr std::size_t kMaxConnections = 1'024;

  // Sets the capacity; capped at kMaxConnections. put() closes connections beyond it.
  void set_capacity(std::size_t capacity) { capacity_ = std::min(capacity, kMaxConnections); }
  // Adds an idle connection: its buffers must be empty and no response may be outstanding.
  void put(std::shared_ptr<Socket> socket);
  // Removes and returns the most recently used connection, now owned by `owner`; null if none.
  [[nodiscard]] std::shared_ptr<Socket> take(Socket::Owner& owner);
  // As take(), but null unless the replica is known to keep idle connections open long enough.
  [[nodiscard]] std::shared_ptr<Socket> take_for_non_idempotent(Socket::Owner& owner);
  // Whether to pool a connection even if only non-idempotent requests are made.
  [[nodiscard]] bool is_useful_for_non_idempotent() const {
    return keep_alive_policy_ == KeepAlivePolicy::kKeepsOpen || needs_probe();
  }
  // Called when the replica closed a reused connection before it answered.
  void mark_unreliable() { keep_alive_policy_ = KeepAlivePolicy::kClosesIdle; }

  // Closes connections idle for longer than kMaxIdle and evaluates the probe. Called periodically.
  void close_expired(std::chrono::steady_clock::time_point now);
  void clear();
  [[nodiscard]] bool empty() const { return idle_.empty() && !probe_.socket; }

 private:
  // What is known about how the replica treats idle connections.
  enum class KeepAlivePolicy : std::uint8_t { kUnknown, kKeepsOpen, kClosesIdle };
  struct IdleConnection {
    std::shared_ptr<Socket> socket;
    std::chrono::steady_clock::time_point since;  // when it became idle
  };

  void on_bytes(Socket& socket) override;  // EOF or unsolicited data: drops the connection
  void on_writable(Socket& /*socket*/) override {}
  void on_connected(Socket& /*socket*/, bool /*connected*/) override {}
  [[nodiscard]] bool needs_probe() const {
    return keep_alive_policy_ == KeepAlivePolicy::kUnknown && !probe_.socket;
  }
  void check_probe(std::chrono::steady_clock::time_point now);

  std::vector<IdleConnection> idle_;  // longest idle first
  IdleConnection probe_;              // socket is null if there is no probe
  KeepAlivePolicy keep_alive_policy_ = KeepAlivePolicy::kUnknown;
  std::size_t capacity_ = kMaxConnections;
};

// Pool capacity for an endpoint that serves at most `most_connections` clients. These connections
// come on top of the one per client that is in use.
[[nodiscard]] constexpr std::size_t max_pooled_connections(std::size_t most_connections) {
  return std::min(KeepAlivePool::kMaxConnections, most_connections / 4 + 1);
}

}  // namespace tangram::endpoint
