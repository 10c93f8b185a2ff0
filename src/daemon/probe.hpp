// One attempt to find out whether a service answers: a connection to its port, or a GET of a path.
// One rule: it answers once, within its time, whatever the service does.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

using ProbeAnswer = std::function<void(bool ready, const std::string& detail)>;

void probe_tcp(boost::asio::io_context& loop, std::uint16_t port, std::chrono::milliseconds time,
               ProbeAnswer answer);
// Ready when the status is from 200 to 399.
void probe_http(boost::asio::io_context& loop, std::uint16_t port, const std::string& path,
                std::chrono::milliseconds time, ProbeAnswer answer);

}  // namespace tangram::daemon
