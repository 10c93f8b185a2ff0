// Control: the Unix socket through which daemons control the endpoint. It reads and writes lines;
// the Relay interprets them. Line length, unsent bytes and the number of clients are bounded; a
// client that exceeds a limit is disconnected. Used on the event loop only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/error.hpp"
#include "endpoint/net/socket.hpp"
#include "os/descriptor.hpp"

namespace tangram::endpoint {

using ClientId = std::uint64_t;

// Creates the listening socket in `folder` (an open directory). Called before privileges are
// dropped.
[[nodiscard]] Result<os::Descriptor> open_control(int folder);

class Control {
 public:
  static constexpr std::size_t kMaxLine = std::size_t{64} * 1'024;
  static constexpr std::size_t kMaxUnsent = std::size_t{256} * 1'024;
  static constexpr std::size_t kMaxClients = 16;

  struct Callbacks {
    std::function<std::string()> greeting;  // returns the first line sent to a new client
    std::function<void(ClientId, std::string_view)> on_line;
  };
  // Only processes of root and of `user` may connect.
  Control(boost::asio::io_context& loop, os::Descriptor socket, uid_t user, Callbacks callbacks);
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  Control(Control&&) = delete;
  Control& operator=(Control&&) = delete;

  // `line` is without a newline. A client that has disconnected is ignored.
  void send(ClientId id, std::string_view line);
  void broadcast(std::string_view line);

 private:
  class Client;

  void listen();
  void accept_all();
  void drop(ClientId id);

  boost::asio::io_context& loop_;
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer pause_;
  uid_t user_;
  Callbacks callbacks_;
  std::map<ClientId, std::shared_ptr<Client>> clients_;
  ClientId next_client_ = 1;
};

}  // namespace tangram::endpoint
