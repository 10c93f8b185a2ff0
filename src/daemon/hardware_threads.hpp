// What of Hardware needs Asio: when each GPU is looked at. Apart, because Asio's headers are heavy.
// One rule: only the .cpp files of Hardware include it.
#pragma once

#include <map>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "daemon/hardware.hpp"

namespace tangram::daemon {

struct Hardware::Threads {
  struct Look {  // at one GPU
    explicit Look(boost::asio::io_context& loop) : next(loop) {}
    boost::asio::steady_timer next;
    bool is_out = false;
    bool again = false;  // soon after this one
  };
  std::map<std::string, Look> looks;  // by UUID
  std::size_t gpus_added = 0;         // or on their way to the scheduler
};

// The one that stands there, if any.
[[nodiscard]] inline const device::Instance* find_at(const std::vector<device::Instance>& present,
                                                     const std::string& profile, unsigned start) {
  for (const device::Instance& each : present) {
    if (each.profile == profile && each.start == start) return &each;
  }
  return nullptr;
}

}  // namespace tangram::daemon
