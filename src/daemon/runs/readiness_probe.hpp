// ReadinessProbe: one attempt to find out whether a service is ready, by a TCP connection to its
// port on the loopback address or by an HTTP GET. Runs on `loop` and calls back once, within
// `timeout`.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

// `detail`: for people, why it is not ready.
using ProbeCallback = std::function<void(bool is_ready, const std::string& detail)>;

void probe_tcp(boost::asio::io_context& loop, std::uint16_t port, std::chrono::milliseconds timeout,
               ProbeCallback callback);
// Ready if the status is 200 to 399.
void probe_http(boost::asio::io_context& loop, std::uint16_t port, const std::string& path,
                std::chrono::milliseconds timeout, ProbeCallback callback);

}  // namespace tangram::daemon
