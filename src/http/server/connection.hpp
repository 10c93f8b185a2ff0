// Connection: one client connection. Reads requests one after the other, has them handled and
// writes the responses. Only the connection*.cpp files behind this header use Beast. Back-pressure:
// nothing is read while a response is being produced or written, so a client can queue at most one
// buffer of pipelined requests.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "http/logs/log_read_thread.hpp"
#include "http/logs/log_watcher.hpp"
#include "http/routes/api_handlers.hpp"
#include "http/server/byte_quota.hpp"
#include "http/server/server.hpp"

namespace tangram::http {

// ServerContext: what all connections of a server share. Used on the event loop only.
struct ServerContext {
  ServerContext(boost::asio::io_context& the_loop, ServerOptions its_options,
                ApiHandlers its_handlers)
      : loop(the_loop),
        options(std::move(its_options)),
        handlers(std::move(its_handlers)),
        watcher(loop),
        log_thread(loop),
        request_bytes(options.max_body_bytes, options.max_body_bytes_each),
        response_bytes(options.max_response_bytes, options.max_response_bytes_each) {}

  boost::asio::io_context& loop;
  ServerOptions options;
  ApiHandlers handlers;
  LogWatcher watcher;
  LogReadThread log_thread;
  ByteQuota request_bytes;
  ByteQuota response_bytes;
  unsigned connection_count = 0;  // connections since the server was opened
  bool is_open = true;            // false: the server is closing and handlers must not be called
};

class Connection {
 public:
  Connection() = default;
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  Connection(Connection&&) = delete;
  Connection& operator=(Connection&&) = delete;

  // Closes the connection at once. After it returns, no handler is called and nothing of the daemon
  // is held.
  virtual void close() = 0;
};

struct ConnectionHooks {
  // Called once, on the loop, when the connection has been closed by either side.
  std::function<void()> on_closed;
  // Called once when a TCP client has shown a valid token: moves its connection from the quota of
  // unauthenticated clients to that of authenticated ones. Returns why there is no room; empty if
  // it was moved. May be unset.
  std::function<std::string()> promote = {};
};

// Serves HTTP on a connected unix socket. Takes ownership of the descriptor.
[[nodiscard]] std::shared_ptr<Connection> serve(int descriptor, const Caller& caller,
                                                std::shared_ptr<ServerContext> context,
                                                ConnectionHooks hooks);

}  // namespace tangram::http
