// The timers of Leases. Private to it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "daemon/leases.hpp"

namespace tangram::daemon {

// So long at least have holders to renew after a restart, or after trouble with the store.
inline constexpr std::chrono::seconds kAfterTrouble{5};

struct Leases::Timing {
  explicit Timing(boost::asio::io_context& loop) : next(loop) {}

  struct Vacating {
    explicit Vacating(boost::asio::io_context& loop) : timer(loop) {}
    boost::asio::steady_timer timer;
    std::chrono::milliseconds wait{100};
    std::string cgroup;  // that must be empty, too
    std::string why;     // it is not free, as last said
  };
  boost::asio::steady_timer next;                               // the next end by time
  std::map<std::uint32_t, std::unique_ptr<Vacating>> vacating;  // by run
};

}  // namespace tangram::daemon
