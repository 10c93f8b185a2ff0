// Session: one client's connection, from accept to close, and RelayContext, the state that all
// sessions share. Relaying itself is in tcp_session.cpp and http_session.hpp. A session is ended by
// itself or by the Relay, never by another session. Everything runs on the endpoint's event loop.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>

#include "api/endpoint_spec.hpp"
#include "endpoint/http/head.hpp"
#include "endpoint/http/keep_alive_pool.hpp"
#include "endpoint/relay/connect_throttle.hpp"
#include "endpoint/relay/routes.hpp"
#include "os/socket_owner.hpp"

namespace tangram::endpoint {

using Moment = std::chrono::steady_clock::time_point;

inline constexpr std::size_t kMaxBuffer = std::size_t{32} * 1'024;  // per direction

class Session;

struct RelayContext {
  boost::asio::io_context& loop;
  const api::EndpointSpec& spec;
  std::uint32_t service_uid;  // of the replicas; other users' sockets get no byte
  api::EndpointCounts counts{};
  Routes routes;
  os::SocketOwner socket_owner{};
  KeepAlivePool keep_alive_pool{};
  ConnectThrottle connect_throttle{loop};
  std::list<Session*> idle_sessions{};  // longest idle first
  bool is_ending = false;
  // Scratch heads for whichever session is parsing, shared to reuse their memory.
  RequestHead request{};
  ResponseHead response{};
  std::function<void(Session&)> on_session_closed{};  // releases the session
  // Called when a connection to a replica's port was dropped because its other end does not belong
  // to the service, or this could not be found out.
  std::function<void(const std::string& why)> on_foreign_replica{};

  // Detaches the exchange from its run, if it has one, and counts the outcome.
  void detach(Exchange& exchange, Outcome outcome) {
    if (!routes.detach(exchange, outcome)) return;
    if (outcome == Outcome::kCut) ++counts.cut;
    if (outcome == Outcome::kBroken) ++counts.broken;
  }
  // When an exchange is cut unless a byte passes before, in either direction.
  [[nodiscard]] Moment idle_deadline() const {
    return spec.idle.count() > 0 ? std::chrono::steady_clock::now() + spec.idle : Moment::max();
  }
};

// A session between two requests is idle (mark_idle) and may be closed without losing anything.
class Session : public Exchange, public std::enable_shared_from_this<Session> {
 public:
  virtual void start() = 0;
  // Called periodically: applies timeouts.
  virtual void check(Moment now) = 0;
  // The endpoint is ending: start nothing new; exchanges in flight may finish.
  virtual void wind_down() = 0;
  // Closes the session at once.
  virtual void drop() = 0;

 protected:
  void mark_idle(RelayContext& context, Moment now) {
    idle_since_ = now;
    context.idle_sessions.splice(context.idle_sessions.end(),
                                 is_idle() ? context.idle_sessions : idle_node_, idle_position_);
  }
  void mark_busy(RelayContext& context) {
    if (is_idle()) idle_node_.splice(idle_node_.end(), context.idle_sessions, idle_position_);
  }

 private:
  friend class Relay;
  [[nodiscard]] bool is_idle() const { return idle_node_.empty(); }

  std::list<std::shared_ptr<Session>>::iterator position_{};  // in the Relay's list
  // This session's list node: here while busy, in RelayContext::idle_sessions while idle, so that
  // the change allocates nothing.
  std::list<Session*> idle_node_{this};
  std::list<Session*>::iterator idle_position_ = idle_node_.begin();
  Moment idle_since_{};
};

struct AcceptedConnection {
  int descriptor = -1;  // owned by the receiver
  int family = 0;
  std::string address;  // the client's, e.g. "192.0.2.7"
};

[[nodiscard]] std::shared_ptr<Session> make_tcp_session(RelayContext& context,
                                                        std::shared_ptr<Socket> client);
// `address`: the client's, for X-Forwarded-For.
[[nodiscard]] std::shared_ptr<Session> make_http_session(RelayContext& context,
                                                         std::shared_ptr<Socket> client,
                                                         std::string address);

}  // namespace tangram::endpoint
