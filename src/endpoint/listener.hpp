// Listener: the address of the service. It is bound before the endpoint gives up its rights, and
// kept until the end. One rule: whoever cannot be served yet waits in the backlog of the kernel,
// and costs nothing there.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/error.hpp"
#include "endpoint/session.hpp"
#include "files/descriptor.hpp"

namespace tangram::endpoint {

struct Address {
  files::Descriptor socket{-1};
  std::uint16_t port = 0;  // as it is, also if any was asked for
};
[[nodiscard]] Result<Address> listen_at(const std::string& host, std::uint16_t port);

class Listener {
 public:
  struct Callbacks {
    std::function<bool()> has_room;           // for one more; else it sleeps until wake()
    std::function<bool(Arrival)> accepted;    // false: nothing is left to serve it with
    std::function<void(int code)> exhausted;  // accepting failed; it is tried again later
  };
  Listener(boost::asio::io_context& loop, files::Descriptor socket, Callbacks callbacks);

  // There may be room again.
  void wake();
  void close();

 private:
  void listen();
  void take_all();
  void pause();

  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer pause_;
  Callbacks callbacks_;
  bool is_asleep_ = false;
};

}  // namespace tangram::endpoint
