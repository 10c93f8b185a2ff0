// What of Hardware needs Asio: a thread for looking, and a timer. Apart, because Asio's headers are
// heavy. One rule: only the .cpp files of Hardware include it.
#pragma once

#include <atomic>
#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "daemon/hardware.hpp"

namespace tangram::daemon {

struct Hardware::Threads {
  explicit Threads(boost::asio::io_context& loop) : next_look(loop), look_limit(loop) {}
  boost::asio::thread_pool looking{1};
  boost::asio::steady_timer next_look;
  boost::asio::steady_timer look_limit;
  bool look_is_out = false;
  std::shared_ptr<std::atomic<std::size_t>> looking_at =
      std::make_shared<std::atomic<std::size_t>>(0);
  bool look_again = false;
  std::size_t gpus_added = 0;  // or on their way to the scheduler
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
