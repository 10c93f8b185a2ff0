// Relay: a running endpoint: its listener, sessions, routes and control clients on one event loop.
// It depends only on its specification and the commands it gets, so the daemon and replicas may be
// restarted at any time.
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
#include "endpoint/relay/control.hpp"
#include "endpoint/relay/control_command.hpp"
#include "endpoint/relay/listener.hpp"
#include "endpoint/relay/log.hpp"
#include "endpoint/relay/relay_context.hpp"

namespace tangram::endpoint {

class Relay {
 public:
  struct Parts {
    BoundSocket address;
    os::Descriptor control;
    os::Descriptor signals;  // a signalfd: any signal from it ends the endpoint
    uid_t owner_uid = 0;     // the user who started the endpoint; may use the control socket
    uid_t service_uid = 0;   // the user as which the service's replicas run
  };
  Relay(const api::EndpointSpec& spec, Log& log, Parts parts);

  // Serves until an "end" command or a signal has been carried out.
  void run();

 private:
  void on_line(ClientId client, std::string_view line);
  void execute(ClientId client, std::int64_t id, const RouteCommand& command);
  void execute(ClientId client, std::int64_t id, const HoldCommand& command);
  void execute(ClientId client, std::int64_t id, const CountsCommand& command);
  void execute(ClientId client, std::int64_t id, const EndCommand& command);
  void on_drained(const Drained& drained);
  [[nodiscard]] std::string greeting() const;

  [[nodiscard]] bool ensure_capacity();
  [[nodiscard]] bool accept(AcceptedConnection arrival);
  void on_session_closed(Session& session);
  void watch_signals();
  void tick();
  void shut_down(std::chrono::milliseconds drain);
  void drop_all();
  void log_exhausted(int code);
  // Logs unless `last_logged` is less than kLogInterval ago; updates it.
  void log_rarely(std::optional<Moment>& last_logged, const std::string& text);

  const api::EndpointSpec& spec_;
  Log& log_;
  std::uint16_t port_;
  boost::asio::io_context loop_{1};
  RelayContext context_;
  std::list<std::shared_ptr<Session>> sessions_;
  Control control_;
  Listener listener_;
  boost::asio::posix::stream_descriptor signals_;
  boost::asio::steady_timer tick_;
  bool is_ticking_ = false;
  boost::asio::steady_timer shutdown_timer_;
  std::optional<Moment> exhausted_logged_;
  std::optional<Moment> full_logged_;
  std::optional<Moment> displaced_logged_;
  std::optional<Moment> foreign_logged_;
};

}  // namespace tangram::endpoint
