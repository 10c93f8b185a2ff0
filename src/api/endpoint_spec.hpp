// EndpointSpec: everything tangram-endpoint needs to own the address of one service, written by the
// daemon into the endpoint's folder as spec.json; and the protocol of its control socket. The
// endpoint reads no other configuration, and works with an older or newer daemon as long as it
// knows the version.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <boost/json/value.hpp>

#include "api/job.hpp"
#include "base/error.hpp"

namespace tangram::api {

inline constexpr int kEndpointVersion = 1;

// The files of an endpoint's folder; spec.json, lock and control as in a run's folder.
inline constexpr const char* kEndpointLog = "log";

struct EndpointSpec {
  std::uint64_t job = 0;
  EndpointMode mode = EndpointMode::kTcp;  // never kNone
  std::string host = "127.0.0.1";          // an IP address to listen on
  std::uint16_t port = 0;                  // 0: any free one, which the greeting reports
  // The user to run as once it listens; ignored unless the endpoint is root. nullopt: no change.
  struct User {
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    friend bool operator==(const User&, const User&) = default;
  };
  std::optional<User> user;
  bool forwarded = false;                        // http: adds X-Forwarded-For, -Host, -Proto
  std::uint32_t most_connections = 4'096;        // limit of clients; more wait in the backlog
  std::chrono::milliseconds wait{30'000};        // how long clients wait for a replica; then 503
  std::chrono::milliseconds connect{5'000};      // to the replica, for all attempts together
  std::chrono::milliseconds header{30'000};      // for a client to send a complete request header
  std::chrono::milliseconds keep_alive{75'000};  // idle timeout of a client between two requests
  // An exchange without a byte in either direction for this long is cut; 0: never.
  std::chrono::milliseconds idle{600'000};

  friend bool operator==(const EndpointSpec&, const EndpointSpec&) = default;
};

// Overrides the fields of `spec` that `limits` sets.
void apply(const EndpointLimits& limits, EndpointSpec& spec);

[[nodiscard]] boost::json::value to_json(const EndpointSpec& spec);
[[nodiscard]] Result<EndpointSpec> read_endpoint_spec(const boost::json::value& document);

// Counters of an endpoint since it was started.
struct EndpointCounts {
  std::uint64_t connections = 0;  // client connections accepted
  std::uint64_t requests = 0;     // http: answered by a replica; tcp: connections relayed
  std::uint64_t refused = 0;      // http: answered by the endpoint itself (400, 502, 503 …)
  std::uint64_t retried = 0;      // http: requests sent again without the client noticing
  std::uint64_t cut = 0;          // ended early by the endpoint
  std::uint64_t broken = 0;       // ended early by the replica or the client
  std::uint64_t displaced = 0;    // http: idle client connections closed for new ones
  std::uint64_t drained = 0;      // finished in time while their replica was draining
  std::uint64_t bytes_in = 0;     // from clients
  std::uint64_t bytes_out = 0;    // to clients
  std::uint32_t open = 0;         // client connections now
  std::uint32_t active = 0;       // http: requests in flight now; tcp: connections relayed now

  friend bool operator==(const EndpointCounts&, const EndpointCounts&) = default;
};
[[nodiscard]] boost::json::value to_json(const EndpointCounts& counts);
[[nodiscard]] Result<EndpointCounts> read_endpoint_counts(const boost::json::value& document);

// The control socket (a stream; one JSON object per line, both ways; several clients at once).
//   endpoint → client, on connect (the greeting):
//     {"version":1,"endpoint":PID,"host":"127.0.0.1","port":N,"run":R|null}
//     run: the run that new traffic is routed to.
//   client → endpoint:
//     {"do":"route","id":7,"run":12,"port":20003,"drain_ms":30000}
//        Routes new traffic to the replica `run` on 127.0.0.1:port → {"done":7}
//        Then, for every other run with traffic, as soon as none is in flight any more:
//        {"drained":11,"to":12,"finished":40,"cut":0,"broken":0}, sent to every client.
//        Exchanges still in flight after drain_ms are cut. Repeating the current route is answered
//        too, and repeats {"drained"…} for the run that the last change of route left.
//     {"do":"hold","id":8}           No replica at present: new requests wait (spec.wait) →
//                                    {"done":8}. Exchanges in flight continue.
//     {"do":"counts","id":9}         → {"done":9,"counts":{…}}
//     {"do":"end","id":10,"drain_ms":5000}   → {"done":10}; accepts no new connections, lets
//                                    exchanges in flight finish for that time, then exits.
//   Any other line → {"error":"…"}, without further effect.

}  // namespace tangram::api
