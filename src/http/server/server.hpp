// Server: the daemon's HTTP API, HTTP/1.1 with JSON bodies on a unix socket and optionally on TCP
// with TLS. Connections run on the daemon's event loop; the routes are in http/routes. Rate limits,
// quotas, timeouts and back-pressure keep slow, idle or malicious clients from blocking the loop or
// using more than a bounded share of memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "http/routes/api_handlers.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::http {

struct ServerOptions {
  std::string socket;    // path; a stale socket of a crashed daemon is replaced
  unsigned mode = 0666;  // mode of the socket file; handlers check what a user may do
  // Called with a message if open() has to wait for another daemon that starts or ends there.
  std::function<void(const std::string& message)> on_socket_wait = {};
  std::string tcp = {};          // "127.0.0.1:7443"; empty: no TCP. TCP clients need a token
  std::string certificate = {};  // PEM file, for TCP
  std::string key = {};          // PEM file, the certificate's private key

  // Connection quotas.
  std::size_t max_connections = 1024;          // on the unix socket
  std::size_t reserved_connections = 32;       // additional ones for root and the daemon's own user
  std::size_t max_tcp_connections = 512;       // authenticated ones over TCP
  std::size_t max_unauthenticated = 384;       // unauthenticated ones over TCP
  std::size_t max_connections_per_user = 256;  // and per remote network
  // Rate limit of new TCP connections, per remote network (token bucket).
  double connection_burst = 256;
  double connections_per_second = 50;

  // Size limits and byte quotas.
  std::size_t max_body_size = 4U << 20U;         // of one request
  std::size_t max_body_bytes = 64U << 20U;       // of all requests being read
  std::size_t max_body_bytes_each = 16U << 20U;  // per user; all unauthenticated clients are one
  std::size_t max_response_bytes = 64U << 20U;   // of all large responses being written
  std::size_t max_response_bytes_each = 16U << 20U;  // per user; one larger response is allowed

  // Timeouts.
  std::chrono::seconds header_timeout{10};                // for a request, header and body
  std::chrono::seconds idle_timeout{75};                  // keep-alive: of an idle connection
  std::chrono::seconds unauthenticated_idle_timeout{10};  // the same until a valid token is shown
  // Unauthenticated connections are closed after this time or number of requests, even if active.
  std::chrono::seconds unauthenticated_lifetime{30};
  std::size_t unauthenticated_requests = 10;
  // Interval of comments in event streams and of token checks during long responses.
  std::chrono::milliseconds heartbeat{15'000};
};

class Server {
 public:
  // Listens when it returns; requests are served once the loop runs. Fails if another daemon
  // listens on the socket, or if the address, certificate or key cannot be used. Blocks for some
  // seconds while another daemon starts or ends on the same socket.
  [[nodiscard]] static Result<std::unique_ptr<Server>> open(boost::asio::io_context& loop,
                                                            const ServerOptions& options,
                                                            ApiHandlers handlers);
  // Stops listening, removes the socket file and closes all connections.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  Server(Server&&) = delete;
  Server& operator=(Server&&) = delete;

  // Loads certificate and key, from these or other files, for new connections. If they cannot be
  // used, the old ones are kept and an error is returned. Does nothing without TCP.
  [[nodiscard]] Result<void> reload_keys(const std::string& certificate, const std::string& key);
  // The port it listens on, also if the system chose it (port 0); 0 without TCP.
  [[nodiscard]] std::uint16_t tcp_port() const;

 private:
  class Listener;
  explicit Server(std::shared_ptr<Listener> listener);
  std::shared_ptr<Listener> listener_;
};

}  // namespace tangram::http
