// What of Supervisor needs Asio: threads for what waits for the disk or for other processes. One
// rule: only the .cpp files of Supervisor include it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "daemon/ports.hpp"
#include "daemon/supervisor.hpp"

namespace tangram::daemon {

struct Supervisor::Threads {
  boost::asio::thread_pool starting{4};
  Ports ports;
  int strays = 0;
};

}  // namespace tangram::daemon
