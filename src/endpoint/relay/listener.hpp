// Listener: accepts connections on the service's address, which is bound before the endpoint drops
// its privileges. Connections that cannot be served yet stay in the kernel's backlog.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/error.hpp"
#include "endpoint/relay/relay_context.hpp"
#include "os/descriptor.hpp"

namespace tangram::endpoint {

struct BoundSocket {
  os::Descriptor socket{-1};
  std::uint16_t port = 0;  // the actual one, even if port 0 was requested
};
// Binds and listens on `host` (an IP address). The error message says what to do.
[[nodiscard]] Result<BoundSocket> listen_at(const std::string& host, std::uint16_t port);

class Listener {
 public:
  struct Callbacks {
    // Called when a client is waiting. Returns whether one more connection can be served, perhaps
    // after closing an idle one. False: accepting stops until resume().
    std::function<bool()> ensure_capacity;
    // False: out of resources; accepting is retried after a pause.
    std::function<bool(AcceptedConnection)> on_accepted;
    // accept() failed for lack of descriptors or memory (errno); it is retried after a pause.
    std::function<void(int code)> on_exhausted;
  };
  Listener(boost::asio::io_context& loop, os::Descriptor socket, Callbacks callbacks);

  // Calls ensure_capacity() again. No-op unless accepting has stopped.
  void resume();
  void close();

 private:
  void listen();
  void accept_all();
  void pause();

  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer pause_;
  Callbacks callbacks_;
  bool is_suspended_ = false;
};

}  // namespace tangram::endpoint
