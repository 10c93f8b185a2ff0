// EndpointProcess: the state that Endpoints keeps of one endpoint. It is rebuilt after a restart of
// the daemon from the job's row in the store and the endpoint's folder. Private to Endpoints.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "daemon/access/user_lookup.hpp"
#include "daemon/endpoints/endpoints.hpp"
#include "daemon/runs/control_link.hpp"
#include "daemon/runs/port_allocator.hpp"

namespace tangram::daemon {

struct Endpoints::Threads {
  explicit Threads(boost::asio::io_context& loop) : user_lookup(loop), poll_timer(loop) {}
  UserLookup user_lookup;  // of the group that an endpoint runs as
  boost::asio::thread_pool starting{2};
  boost::asio::steady_timer poll_timer;
  PortAllocator ports;
};

struct Endpoints::EndpointProcess {
  explicit EndpointProcess(boost::asio::io_context& loop) : retry(loop), deadline(loop) {}

  std::uint64_t job = 0;  // 0: an orphan
  std::string folder;
  api::EndpointSpec spec;
  std::chrono::milliseconds drain{30'000};
  bool has_request = false;  // `spec` and `drain` are those of the job's request

  enum class Phase : std::uint8_t {
    kStarting,  // for the first time or again
    kLinked,    // connected to the process, or reconnecting
    kEnding,    // the process was requested to end
  };
  Phase phase = Phase::kStarting;
  bool is_starting = false;       // the user is being looked up or the process being started
  bool has_greeting = false;      // on the current connection
  bool version_mismatch = false;  // it speaks another protocol version: it is left alone
  int missed_polls = 0;           // in a row without any line from it
  int attempts = 0;
  std::optional<std::chrono::steady_clock::time_point> first_greeting;  // of the process
  std::unique_ptr<ControlLink> link;
  std::int64_t last_id = 0;
  std::int64_t route_id = 0;                    // request id of the last route or hold
  std::optional<Route> requested;               // of that request; nullopt: hold
  bool is_confirmed = false;                    // the endpoint confirmed that request
  std::optional<std::uint32_t> routed;          // the run it routes to, as reported by itself
  std::optional<core::SwitchTraffic> pending;   // neither switched nor failed yet
  bool is_reverting = false;                    // the switch timed out: back to the original
  std::optional<core::SwitchTraffic> draining;  // switched, TrafficDrained not posted yet
  api::EndpointCounts counts;                   // since this daemon has it
  api::EndpointCounts counts_at_recovery;       // what its process did for an earlier daemon
  bool is_recovered = false;  // its process is older than the daemon: subtract its first counts
  boost::asio::steady_timer retry;     // next attempt to start or connect
  boost::asio::steady_timer deadline;  // of the switch or the drain in progress
};

}  // namespace tangram::daemon
