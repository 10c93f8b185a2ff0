// PollState: when each GPU is polled next. Not in hardware.hpp because Asio's headers are heavy;
// included by the .cpp files of Hardware only.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "daemon/gpus/hardware.hpp"

namespace tangram::daemon {

struct Hardware::PollState {
  struct GpuPoll {
    explicit GpuPoll(boost::asio::io_context& loop) : next(loop) {}
    boost::asio::steady_timer next;
    bool is_in_flight = false;
    bool repeat = false;   // poll again soon after the current poll
    bool had_mig = false;  // MIG mode was on since the daemon's start
    std::chrono::steady_clock::time_point next_mig_attempt{};
    std::string mig_failure;  // of the last attempt to switch MIG mode on
  };
  [[nodiscard]] GpuPoll& of(const std::string& uuid, boost::asio::io_context& loop) {
    return polls.try_emplace(uuid, loop).first->second;
  }
  std::map<std::string, GpuPoll> polls;  // by UUID
  std::size_t gpus_added = 0;            // including those posted and not applied yet
};

// Why an instance is gone that a job holds.
inline constexpr const char* kRemovedByOthers = "another program removed";

// Why a GPU is out of service.
inline constexpr const char* kMigOff = "MIG mode is off";

// The instance of `profile` that begins at memory slice `start`; null if there is none.
[[nodiscard]] inline const device::Instance* find_at(const std::vector<device::Instance>& present,
                                                     const std::string& profile, unsigned start) {
  for (const device::Instance& each : present) {
    if (each.profile == profile && each.start == start) return &each;
  }
  return nullptr;
}

}  // namespace tangram::daemon
