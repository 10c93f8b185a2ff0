// Control: the shim's control socket and its clients. It transports lines; JobSupervisor interprets
// them. Line length, unsent bytes and the number of clients are limited, and a client that exceeds
// a limit is disconnected, so no client can block the shim or exhaust its memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "os/descriptor.hpp"
#include "shim/poll_set.hpp"

namespace tangram::shim {

using ClientId = std::uint64_t;

class Control {
 public:
  static constexpr std::size_t kMaxLineBytes = std::size_t{64} * 1'024;
  static constexpr std::size_t kMaxUnsentBytes = std::size_t{256} * 1'024;
  static constexpr std::size_t kMaxClients = 16;

  // `folder` must stay open; the socket is removed by close().
  [[nodiscard]] static Result<Control> open(int folder);

  struct Callbacks {
    std::function<std::string()> make_greeting;  // the first line sent to a client
    std::function<void(ClientId, std::string_view)> on_line;
  };
  // `callbacks` must outlive the next PollSet::wait().
  void watch(PollSet& polls, const Callbacks& callbacks);

  // `line` without line feed. Does nothing for a client that is gone.
  void send(ClientId id, std::string_view line);
  void broadcast(std::string_view line);

  // Flushes unsent lines for at most `timeout`, then closes all connections and the socket.
  void close(std::chrono::milliseconds timeout);

 private:
  struct Client {
    os::Descriptor socket;
    std::string received{};
    std::string unsent{};
    bool is_closed = false;  // its read side; lines received before are still handled
  };

  Control(int folder, os::Descriptor socket) : folder_(folder), socket_(std::move(socket)) {}
  void accept_all(const Callbacks& callbacks);
  void on_ready(ClientId id, const Callbacks& callbacks);
  bool receive(ClientId id, const Callbacks& callbacks);
  void flush(ClientId id);
  void drop(ClientId id) { clients_.erase(id); }

  int folder_;
  os::Descriptor socket_;
  std::map<ClientId, Client> clients_;
  ClientId next_client_ = 1;
};

}  // namespace tangram::shim
