// ControlLink: the daemon's connection to the control socket of one shim or endpoint. The protocol
// is in api/run_spec.hpp and api/endpoint_spec.hpp. Passes on whole lines and the end of the
// stream, and sends requests in order. It does not reconnect: a closed link is replaced by a new
// one. Used on the event loop only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <boost/json/object.hpp>

#include "base/error.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

class ControlLink {
 public:
  struct Callbacks {
    std::function<void(const boost::json::object&)> on_line;
    // No connection could be made, or it ended. Called once, never within a call.
    std::function<void()> on_closed;
  };

  // Connects to the socket in `folder`; requests sent before it is connected are queued.
  ControlLink(boost::asio::io_context& loop, const std::string& folder, Callbacks callbacks);
  // No callback is called afterwards.
  ~ControlLink();
  ControlLink(const ControlLink&) = delete;
  ControlLink& operator=(const ControlLink&) = delete;
  ControlLink(ControlLink&&) = delete;
  ControlLink& operator=(ControlLink&&) = delete;

  void send(const boost::json::object& request);
  // Sends SIGKILL to the process at the other end (SO_PEERCRED). For a process that hangs.
  [[nodiscard]] Result<void> kill_peer();

 private:
  class Stream;
  std::shared_ptr<Stream> stream_;
};

}  // namespace tangram::daemon
