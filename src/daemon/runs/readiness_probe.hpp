// ReadinessProbe: one attempt to find out whether a service is ready, by a TCP connection to its
// port on the loopback address or by an HTTP GET. Runs on `loop` and calls back once, within
// `timeout`. Before a service is ready, any user may listen on its port. So a connection counts,
// and bytes are sent over it, only if the socket that accepted it belongs to the user of the
// service.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>

#include "os/socket_owner.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

struct ProbeResult {
  bool is_ready = false;
  bool was_answered = false;                         // the service accepted the connection
  std::optional<uid_t> foreign_user = std::nullopt;  // another user, whose socket has the port
  std::string detail = {};                           // for people, why it is not ready
};
using ProbeCallback = std::function<void(const ProbeResult&)>;

struct ProbeTarget {
  std::uint16_t port = 0;
  uid_t user = 0;  // as which the service runs
  std::shared_ptr<os::SocketOwner> socket_owner;
};

void probe_tcp(boost::asio::io_context& loop, const ProbeTarget& target,
               std::chrono::milliseconds timeout, ProbeCallback callback);
// Ready if the status is 200 to 399.
void probe_http(boost::asio::io_context& loop, const ProbeTarget& target, const std::string& path,
                std::chrono::milliseconds timeout, ProbeCallback callback);

}  // namespace tangram::daemon
