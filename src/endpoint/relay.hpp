// Relay: the endpoint at work: its listener, its sessions, its routes and those who order it about,
// on one loop. One rule: it looks at nothing but its specification and its orders; daemon and
// replicas may come and go.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "api/endpoint_spec.hpp"
#include "endpoint/control.hpp"
#include "endpoint/listener.hpp"
#include "endpoint/log.hpp"
#include "endpoint/order.hpp"
#include "endpoint/session.hpp"

namespace tangram::endpoint {

class Relay {
 public:
  struct Parts {
    Address address;
    files::Descriptor control;
    files::Descriptor signals;  // a signalfd: whatever it tells of ends the endpoint
    uid_t master = 0;           // who started it
  };
  Relay(const api::EndpointSpec& spec, Log& log, Parts parts);

  // Until the end is ordered and done.
  void run();

 private:
  void on_line(ClientId client, std::string_view line);
  void carry_out(ClientId client, std::int64_t id, const RouteOrder& order);
  void carry_out(ClientId client, std::int64_t id, const HoldOrder& order);
  void carry_out(ClientId client, std::int64_t id, const CountsOrder& order);
  void carry_out(ClientId client, std::int64_t id, const EndOrder& order);
  void on_drained(const Drained& drained);
  [[nodiscard]] std::string greeting() const;

  [[nodiscard]] bool has_room();
  [[nodiscard]] bool accept(Arrival arrival);
  void forget(Session& session);
  void watch_signals();
  void tick();
  void end(std::chrono::milliseconds drain);
  void drop_all();
  void note_exhausted(int code);
  void note_rarely(std::optional<Moment>& noted, const std::string& text);

  const api::EndpointSpec& spec_;
  Log& log_;
  std::uint16_t port_;
  boost::asio::io_context loop_{1};
  House house_;
  std::list<std::shared_ptr<Session>> sessions_;
  Control control_;
  Listener listener_;
  boost::asio::posix::stream_descriptor signals_;
  boost::asio::steady_timer tick_;
  bool is_ticking_ = false;
  boost::asio::steady_timer end_timer_;
  std::optional<Moment> exhausted_noted_;
  std::optional<Moment> full_noted_;
  std::optional<Moment> displaced_noted_;
};

}  // namespace tangram::endpoint
