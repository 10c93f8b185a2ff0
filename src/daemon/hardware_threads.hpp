// What of Hardware needs Asio: a thread for looking, and a timer. Apart, because Asio's headers are
// heavy. One rule: only the .cpp files of Hardware include it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "daemon/hardware.hpp"

namespace tangram::daemon {

struct Hardware::Threads {
  explicit Threads(boost::asio::io_context& loop) : next_look(loop) {}
  boost::asio::thread_pool looking{1};
  boost::asio::steady_timer next_look;
  bool look_is_out = false;
  bool look_again = false;
  std::size_t gpus_added = 0;  // or on their way to the scheduler
};

}  // namespace tangram::daemon
