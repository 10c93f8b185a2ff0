// Server: the daemon's door, HTTP/1.1 with JSON bodies on a unix socket, on the daemon's own loop.
// What it answers is in routes.cpp. One rule: nobody who is slow, silent, rude or gone can hold the
// loop or take more than his bounded share of memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "http/doors.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::http {

struct ServerOptions {
  std::string socket;    // path; one left behind by a daemon that died is replaced
  unsigned mode = 0666;  // who may connect; what they may do is another question
  std::size_t most_connections = 1024;
  std::size_t most_per_user = 256;
  std::size_t largest_body = 4U << 20U;
  std::chrono::seconds header_time{10};
  std::chrono::seconds idle_time{75};
};

class Server {
 public:
  // Listens from its return on; requests are served once the loop runs. Fails if another daemon
  // listens there.
  [[nodiscard]] static Result<std::unique_ptr<Server>> open(boost::asio::io_context& loop,
                                                            const ServerOptions& options,
                                                            Doors doors);
  // Stops listening, removes the socket, ends every connection.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  Server(Server&&) = delete;
  Server& operator=(Server&&) = delete;

 private:
  class Listener;
  explicit Server(std::shared_ptr<Listener> listener);
  std::shared_ptr<Listener> listener_;
};

}  // namespace tangram::http
