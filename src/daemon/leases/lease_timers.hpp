// The timers of Leases. Private to it; not in leases.hpp because Asio's headers are heavy.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "daemon/leases/leases.hpp"

namespace tangram::daemon {

// Minimum time that holders have to renew after a restart or after the store has recovered.
inline constexpr std::chrono::seconds kRecoveryGrace{5};

struct Leases::Timers {
  explicit Timers(boost::asio::io_context& loop) : next(loop) {}

  struct Vacating {  // a lease whose instance must become empty
    explicit Vacating(boost::asio::io_context& loop) : timer(loop) {}
    boost::asio::steady_timer timer;
    std::chrono::milliseconds wait{100};  // until the next check
    std::string cgroup;                   // must be empty, too; may be ""
    std::string why;                      // why the instance is not free, as last reported
  };
  boost::asio::steady_timer next;  // runs Leases::sweep() at the next deadline
  std::map<std::uint32_t, std::unique_ptr<Vacating>> vacating;  // by run
};

}  // namespace tangram::daemon
