// Server: the daemon's door, HTTP/1.1 with JSON bodies on a unix socket and, if it is wanted, on
// TCP with TLS, on the daemon's own loop. What it answers is in routes.cpp. One rule: nobody who is
// slow, silent, rude or gone can hold the loop or take more than his bounded share of memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "http/doors.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::http {

struct ServerOptions {
  std::string socket;            // path; one left behind by a daemon that died is replaced
  unsigned mode = 0666;          // who may connect; what they may do is another question
  std::string tcp = {};          // "127.0.0.1:7443"; empty: none. Whoever comes so needs a token
  std::string certificate = {};  // PEM, for TCP
  std::string key = {};          // its key, PEM
  std::size_t most_connections = 1024;     // on the unix socket
  std::size_t reserved_connections = 32;   // beyond those, for root and the daemon's own user
  std::size_t most_tcp_connections = 512;  // besides, of those who have shown a good token
  std::size_t most_strangers = 384;        // besides, over TCP, of those who have not yet
  std::size_t most_per_user = 256;         // and per remote network
  double most_arrivals = 256;              // of a remote network at once
  double arrivals_per_second = 50;         // and from then on
  std::size_t largest_body = 4U << 20U;
  std::size_t most_body_bytes = 64U << 20U;         // of all requests that are being read
  std::size_t most_body_bytes_each = 16U << 20U;    // of one user; of all strangers
  std::size_t most_answer_bytes = 64U << 20U;       // of all larger answers that are being written
  std::size_t most_answer_bytes_each = 16U << 20U;  // to one user; one larger answer may be alone
  std::chrono::seconds header_time{10};
  std::chrono::seconds idle_time{75};
  std::chrono::seconds stranger_time{10};  // the same over TCP, before a good token was shown
  // Who has shown none until then is sent away, however busy he is.
  std::chrono::seconds stranger_stay{30};
  std::size_t stranger_requests = 10;
  // Of followed events; as often the token of whoever waits is looked at.
  std::chrono::milliseconds heartbeat{15'000};
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

  // Reads certificate and key again, which may be other files by now, for whoever connects from now
  // on; if they cannot be used, the old ones stay.
  [[nodiscard]] Result<void> reload_keys(const std::string& certificate, const std::string& key);
  // That it listens on, if it does; also where the options let the system choose (port 0).
  [[nodiscard]] std::uint16_t tcp_port() const;

 private:
  class Listener;
  explicit Server(std::shared_ptr<Listener> listener);
  std::shared_ptr<Listener> listener_;
};

}  // namespace tangram::http
