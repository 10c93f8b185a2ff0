// Dial: how a session gets its connection to the replica: it waits for a route and for its turn,
// connects, and tries again when the replica refuses, with the route as it is then. One rule:
// nothing of the client has been sent before it is connected, so whatever happens until then is not
// seen by him.
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

  // From here on is_under_way(), until on_connected() has a wire, is_too_late() holds, or stop().
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
  // The client has left before anything of it was sent. One that ended only its own side looks the
  // same for a while, so it is given some time; but what nobody waits for any more, and may have
  // been asked for again since, must not be done. To be asked every now and then.
  [[nodiscard]] bool is_unwanted(Wire& client, Moment now);

 private:
  friend class Turns;
  // Waits for a route, for its turn, for the replica's answer, or to ask it again.
  enum class Stage { kIdle, kWaiting, kQueued, kConnecting, kPausing };
  void go();
  void on_turn() { go(); }
  void connect(const Route& route);
  [[nodiscard]] bool is_unanswered(Moment before) const {
    return stage_ == Stage::kConnecting && attempt_ <= before;
  }
  void begin_anew();
  void pause();

  House& house_;
  Traveller& traveller_;
  Wire::Owner& owner_;
  Stage stage_ = Stage::kIdle;
  Route route_{};
  Turns::Place place_{};
  Moment deadline_{};
  Moment attempt_{};            // when the last one began
  std::optional<Moment> left_;  // when the client was seen to have left
  std::chrono::milliseconds next_pause_{};
  std::shared_ptr<Wire> wire_;
  std::shared_ptr<boost::asio::steady_timer> timer_;  // most sessions never need one
};

}  // namespace tangram::endpoint
