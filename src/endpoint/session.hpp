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
  Turns turns{loop};              // to connect to the replica
  std::list<Session*> resting{};  // the one that has for longest first
  bool is_ending = false;
  RequestHead request{};  // the head that is read just now, by whomever; kept for its memory
  ResponseHead response{};
  std::function<void(Session&)> over{};  // forgets the session

  // It is with no run any more, and how that ended is counted.
  void leave(Traveller& traveller, Ending ending) {
    if (!routes.leave(traveller, ending)) return;
    if (ending == Ending::kCut) ++counts.cut;
    if (ending == Ending::kBroken) ++counts.broken;
  }
  // Until then a byte must pass, in either direction.
  [[nodiscard]] Moment idle_deadline() const {
    return spec.idle.count() > 0 ? std::chrono::steady_clock::now() + spec.idle : Moment::max();
  }
};

// It may be between two requests: then it rests, and nothing is lost if it is ended.
class Session : public Traveller, public std::enable_shared_from_this<Session> {
 public:
  virtual void start() = 0;
  // Every now and then: whether something of it has lasted too long.
  virtual void check(Moment now) = 0;
  // The endpoint ends: nothing new begins here, what is in flight may go on.
  virtual void wind_down() = 0;
  // At once, whatever it does.
  virtual void drop() = 0;

 protected:
  void rest(House& house, Moment now) {
    resting_since_ = now;
    house.resting.splice(house.resting.end(), is_resting() ? house.resting : seat_, seat_at_);
  }
  void rise(House& house) {
    if (is_resting()) seat_.splice(seat_.end(), house.resting, seat_at_);
  }

 private:
  friend class Relay;
  [[nodiscard]] bool is_resting() const { return seat_.empty(); }

  std::list<std::shared_ptr<Session>>::iterator place_{};
  std::list<Session*> seat_{this};  // its place among those who rest, while it is not there
  std::list<Session*>::iterator seat_at_ = seat_.begin();
  Moment resting_since_{};
};

struct Arrival {
  int descriptor = -1;  // open
  int family = 0;
  std::string address;  // of the client, "192.0.2.7"
};

[[nodiscard]] std::shared_ptr<Session> make_tcp_session(House& house, std::shared_ptr<Wire> client);
// `address`: of the client.
[[nodiscard]] std::shared_ptr<Session> make_http_session(House& house, std::shared_ptr<Wire> client,
                                                         std::string address);

}  // namespace tangram::endpoint
