// The timers of Leases. Private to it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "daemon/leases.hpp"

namespace tangram::daemon {

struct Leases::Timing {
  explicit Timing(boost::asio::io_context& loop) : next(loop) {}

  struct Vacating {
    explicit Vacating(boost::asio::io_context& loop) : timer(loop) {}
    boost::asio::steady_timer timer;
    std::chrono::milliseconds wait{100};
    std::vector<unsigned> pids;  // as last said
  };
  boost::asio::steady_timer next;                               // the next end by time
  std::map<std::uint32_t, std::unique_ptr<Vacating>> vacating;  // by run
};

}  // namespace tangram::daemon
