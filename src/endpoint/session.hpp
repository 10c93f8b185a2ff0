// Session: one client's connection, from its acceptance to its end; and the house that all of them
// share. How bytes are relayed is in tcp_session.cpp and http_session.hpp. One rule: a session is
// ended by itself or by the relay's call, never by another session.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>

#include "api/endpoint_spec.hpp"
#include "endpoint/head.hpp"
#include "endpoint/pool.hpp"
#include "endpoint/routes.hpp"
#include "endpoint/turns.hpp"

namespace tangram::endpoint {

using Moment = std::chrono::steady_clock::time_point;

inline constexpr std::size_t kLargestBuffer = std::size_t{32} * 1'024;  // of one direction

class Session;

struct House {
  boost::asio::io_context& loop;
  const api::EndpointSpec& spec;
  api::EndpointCounts counts{};
  Routes routes;
  Pool pool{};
  Turns turns{loop};  // to connect to the replica
  bool is_ending = false;
  RequestHead request{};  // the head that is read just now, by whomever; kept for its memory
  ResponseHead response{};
  std::function<void(Session&)> over{};  // forgets the session

  // Until then a byte must pass, in either direction.
  [[nodiscard]] Moment idle_deadline() const {
    return spec.idle.count() > 0 ? std::chrono::steady_clock::now() + spec.idle : Moment::max();
  }
};

class Session : public Traveller, public std::enable_shared_from_this<Session> {
 public:
  virtual void start() = 0;
  // Every now and then: whether something of it has lasted too long.
  virtual void check(Moment now) = 0;
  // The endpoint ends: nothing new begins here, what is in flight may go on.
  virtual void wind_down() = 0;
  // At once, whatever it does.
  virtual void drop() = 0;

 private:
  friend class Relay;
  std::list<std::shared_ptr<Session>>::iterator place_{};
};

struct Arrival {
  int descriptor = -1;  // becomes the session's
  int family = 0;
  std::string address;  // of the client, "192.0.2.7"
};

[[nodiscard]] std::shared_ptr<Session> make_tcp_session(House& house, Arrival arrival);
[[nodiscard]] std::shared_ptr<Session> make_http_session(House& house, Arrival arrival);

}  // namespace tangram::endpoint
