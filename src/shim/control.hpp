// Control: the socket on which daemons speak to the shim, and its clients. It moves lines; what
// they mean is the supervisor's. One rule: no client can make the shim wait or grow: lines, unsent
// bytes and the number of clients are bounded, and who exceeds them is dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "files/descriptor.hpp"
#include "shim/poll_set.hpp"

namespace tangram::shim {

using ClientId = std::uint64_t;

class Control {
 public:
  static constexpr std::size_t kLongestLine = std::size_t{64} * 1'024;
  static constexpr std::size_t kMostUnsent = std::size_t{256} * 1'024;
  static constexpr std::size_t kMostClients = 16;

  // `folder` must stay open; the socket is removed by close().
  [[nodiscard]] static Result<Control> open(int folder);

  struct Callbacks {
    std::function<std::string()> greeting;  // the first line for a client
    std::function<void(ClientId, std::string_view)> line;
  };
  // `callbacks` must live until the wait is over.
  void watch(PollSet& polls, const Callbacks& callbacks);

  // Lines without their end; a client that is gone by now is passed over.
  void send(ClientId id, std::string_view line);
  void broadcast(std::string_view line);

  // Sends what is unsent as far as that goes within `patience`, then ends all of it.
  void close(std::chrono::milliseconds patience);

 private:
  struct Client {
    files::Descriptor socket;
    std::string received{};
    std::string unsent{};
    bool is_deaf = false;  // it has left; what it said before still counts
  };

  Control(int folder, files::Descriptor socket) : folder_(folder), socket_(std::move(socket)) {}
  void accept_all(const Callbacks& callbacks);
  void on_ready(ClientId id, const Callbacks& callbacks);
  bool receive(ClientId id, const Callbacks& callbacks);
  void flush(ClientId id);
  void drop(ClientId id) { clients_.erase(id); }

  int folder_;
  files::Descriptor socket_;
  std::map<ClientId, Client> clients_;
  ClientId next_client_ = 1;
};

}  // namespace tangram::shim
