// Door: what Endpoints knows of one endpoint, and what of it needs Asio. One rule: everything
// durable about it is in the job's row and in its folder; this can be lost at any moment.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "daemon/control_link.hpp"
#include "daemon/directory.hpp"
#include "daemon/endpoints.hpp"
#include "daemon/ports.hpp"

namespace tangram::daemon {

struct Endpoints::Threads {
  explicit Threads(boost::asio::io_context& loop) : directory(loop), count_timer(loop) {}
  Directory directory;  // whose group endpoints run as
  boost::asio::thread_pool starting{2};
  boost::asio::steady_timer count_timer;
  Ports ports;
};

struct Endpoints::Door {
  explicit Door(boost::asio::io_context& loop) : retry(loop), deadline(loop) {}

  std::uint64_t job = 0;  // 0: a stray
  std::string folder;
  api::EndpointSpec spec;
  std::chrono::milliseconds drain{30'000};
  bool is_read = false;  // its request: what is above; else only the folder is known

  enum class Phase : std::uint8_t {
    kOpening,  // its process is being started, at once or again
    kLinked,   // it answers, or is being found
    kEnding,   // it was told to end
  };
  Phase phase = Phase::kOpening;
  bool is_starting = false;  // its process, or who it runs as is being asked
  bool is_greeted = false;
  bool is_strange = false;  // it speaks another version: it is left alone
  int silent = 0;           // looks in a row without a word from it
  int attempts = 0;
  std::optional<std::chrono::steady_clock::time_point> greeted;  // its process, for the first time
  std::unique_ptr<ControlLink> link;
  std::int64_t last_id = 0;
  std::int64_t route_id = 0;                    // of the last route or hold
  std::optional<Target> asked;                  // by it; none: hold
  bool is_confirmed = false;                    // that
  std::optional<std::uint32_t> routed;          // the run it goes to, as it said itself
  std::optional<core::SwitchTraffic> pending;   // not answered yet
  bool is_turning_back = false;                 // that took too long: to the original again
  std::optional<core::SwitchTraffic> draining;  // its second answer is not given yet
  api::EndpointCounts counts;                   // since this daemon has it
  api::EndpointCounts counted_before;           // by its process, for an earlier daemon
  bool is_found = false;  // its process was there before us: the first it tells is the past
  boost::asio::steady_timer retry;     // next attempt to open or link
  boost::asio::steady_timer deadline;  // of the switch or the drain under way
};

}  // namespace tangram::daemon
