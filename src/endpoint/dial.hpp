// Dial: how a session gets its connection to the replica: it waits for a route, connects, and tries
// again when the replica refuses, with the route as it is then. One rule: nothing of the client has
// been sent before it is connected, so whatever happens until then is not seen by him.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include <boost/asio/steady_timer.hpp>

#include "endpoint/session.hpp"
#include "endpoint/wire.hpp"

namespace tangram::endpoint {

class Dial {
 public:
  Dial(House& house, Traveller& traveller, Wire::Owner& owner)
      : house_(house), traveller_(traveller), owner_(owner) {}

  // From here on is_under_way(), until connected() has a wire, too_late() holds, or stop().
  void start();
  // The route has changed: begins again with it. Nothing to do if it is not under way.
  void on_route();
  // To be called from the owner's on_connected(). Null: it goes on.
  [[nodiscard]] std::shared_ptr<Wire> on_connected(bool connected);
  void stop();

  // Where the wire of on_connected() leads.
  [[nodiscard]] const Route& route() const { return route_; }
  [[nodiscard]] bool is_under_way() const { return stage_ != Stage::kIdle; }
  [[nodiscard]] bool is_waiting() const { return stage_ == Stage::kWaiting; }  // for a replica
  [[nodiscard]] bool is_too_late(Moment now) const { return is_under_way() && now >= deadline_; }

 private:
  enum class Stage { kIdle, kWaiting, kConnecting, kPausing };
  void go();
  void pause();

  House& house_;
  Traveller& traveller_;
  Wire::Owner& owner_;
  Stage stage_ = Stage::kIdle;
  Route route_{};
  Moment deadline_{};
  std::chrono::milliseconds next_pause_{};
  std::shared_ptr<Wire> wire_;
  std::shared_ptr<boost::asio::steady_timer> timer_;  // most sessions never need one
};

}  // namespace tangram::endpoint
