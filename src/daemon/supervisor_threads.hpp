// What of Supervisor needs Asio: threads for what waits for the disk or for other processes, apart
// by what they wait for, so that a trouble with one does not hold up the others. One rule: only the
// .cpp files of Supervisor include it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "daemon/directory.hpp"
#include "daemon/ports.hpp"
#include "daemon/supervisor.hpp"

namespace tangram::daemon {

struct Supervisor::Threads {
  explicit Threads(boost::asio::io_context& loop) : directory(loop) {}
  Directory directory;                   // who jobs run as
  boost::asio::thread_pool starting{4};  // shims, or making sure that none is
  boost::asio::thread_pool killing{2};   // what shims have left behind
  boost::asio::thread_pool removing{1};  // folders
  Ports ports;
  int strays = 0;
};

}  // namespace tangram::daemon
