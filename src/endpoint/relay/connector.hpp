// Connector: gets a session its connection to the replica. It waits for a route and for a slot of
// the ConnectThrottle, connects, and retries with back-off if the replica refuses, each time with
// the current route. Nothing is sent before the connection is made, so the client notices none of
// this. A connection counts as refused unless the socket that accepted it belongs to the user of
// the service: while a replica starts, and after it died, any user may listen on its port.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include <boost/asio/steady_timer.hpp>

#include "endpoint/net/socket.hpp"
#include "endpoint/relay/relay_context.hpp"

namespace tangram::endpoint {

// HalfCloseGrace: how long a client that has half-closed its connection may still wait for its
// response. The kernel reports a client that has closed its connection in the same way.
class HalfCloseGrace {
 public:
  void reset() { since_.reset(); }
  // Called while the client is half-closed; the time counts from the first call after reset().
  [[nodiscard]] bool has_passed(Moment now);

 private:
  std::optional<Moment> since_;  // when the client's FIN was first seen
};

class Connector {
 public:
  Connector(RelayContext& context, Exchange& exchange, Socket::Owner& owner)
      : context_(context), exchange_(exchange), owner_(owner) {}

  // Starts connecting: is_connecting() holds until on_connected() returns a socket or
  // stop() is called.
  void start();
  // The route has changed: starts over with the new one. No-op unless connecting.
  void on_route();
  // The owner calls this from its own on_connected(). Returns the connection, or null if the
  // attempt failed and will be retried.
  [[nodiscard]] std::shared_ptr<Socket> on_connected(bool connected);
  void stop();

  // The route of the connection that on_connected() returned.
  [[nodiscard]] const Route& route() const { return route_; }
  [[nodiscard]] bool is_connecting() const { return stage_ != Stage::kIdle; }
  [[nodiscard]] bool has_no_route() const { return stage_ == Stage::kNoRoute; }
  // Whether the latest attempt reached a program that is not, or may not be, the service's.
  [[nodiscard]] bool is_foreign() const { return is_foreign_; }
  // Whether the time to wait for a replica (spec.wait) or to connect (spec.connect) has passed.
  [[nodiscard]] bool has_timed_out(Moment now) const { return is_connecting() && now >= deadline_; }
  // Whether the client closed its connection before anything was sent to a replica, and its
  // HalfCloseGrace has passed. Then the request must not be executed: the client may have repeated
  // it elsewhere. Called periodically.
  [[nodiscard]] bool is_abandoned(Socket& client, Moment now);

 private:
  friend class ConnectThrottle;
  enum class Stage { kIdle, kNoRoute, kQueued, kConnecting, kBackingOff };
  void proceed();
  void on_slot() { proceed(); }
  void connect(const Route& route);
  [[nodiscard]] bool is_unanswered(Moment before) const {
    return stage_ == Stage::kConnecting && attempt_ <= before;
  }
  [[nodiscard]] bool is_of_service(Socket& socket);
  void reconnect();
  void back_off();

  RelayContext& context_;
  Exchange& exchange_;
  Socket::Owner& owner_;
  Stage stage_ = Stage::kIdle;
  Route route_{};
  ConnectThrottle::Slot slot_{};
  Moment deadline_{};
  Moment attempt_{};  // start of the latest attempt
  bool is_foreign_ = false;
  HalfCloseGrace half_close_grace_;
  std::chrono::milliseconds next_backoff_{};
  std::shared_ptr<Socket> socket_;
  std::shared_ptr<boost::asio::steady_timer> timer_;  // created on demand: most never back off
};

}  // namespace tangram::endpoint
