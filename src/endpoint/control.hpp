// Control: the socket on which daemons speak to the endpoint, and its clients. It moves lines; what
// they mean is the relay's. One rule: no client can make the endpoint wait or grow: lines, unsent
// bytes and the number of clients are bounded, and who exceeds them is dropped.
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
#include "endpoint/wire.hpp"
#include "files/descriptor.hpp"

namespace tangram::endpoint {

using ClientId = std::uint64_t;

// Made while the endpoint has its first rights; `folder` is an open one.
[[nodiscard]] Result<files::Descriptor> open_control(int folder);

class Control {
 public:
  static constexpr std::size_t kLongestLine = std::size_t{64} * 1'024;
  static constexpr std::size_t kMostUnsent = std::size_t{256} * 1'024;
  static constexpr std::size_t kMostClients = 16;

  struct Callbacks {
    std::function<std::string()> greeting;  // the first line for a client
    std::function<void(ClientId, std::string_view)> line;
  };
  // Who may speak: root, and `user`, who started the endpoint.
  Control(boost::asio::io_context& loop, files::Descriptor socket, uid_t user, Callbacks callbacks);
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  Control(Control&&) = delete;
  Control& operator=(Control&&) = delete;

  // Lines without their end; a client that is gone by now is passed over.
  void send(ClientId id, std::string_view line);
  void broadcast(std::string_view line);

 private:
  class Client;

  void listen();
  void take_all();
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
