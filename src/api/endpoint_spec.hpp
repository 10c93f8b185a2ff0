// EndpointSpec: everything tangram-endpoint needs to own the address of one service, written by the
// daemon into the endpoint's folder as spec.json; and the words that the two exchange afterwards.
// One rule: it is complete: the endpoint looks at nothing else, and serves a daemon older or newer
// than itself as long as the version is one it knows.
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
  std::uint16_t port = 0;                  // 0: any free one; told in the greeting
  // As whom, once it listens; only honoured when the endpoint is root. none: as it was started.
  struct User {
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    friend bool operator==(const User&, const User&) = default;
  };
  std::optional<User> user;
  bool forwarded = false;                        // http: adds X-Forwarded-For, -Host, -Proto
  std::uint32_t most_connections = 4'096;        // of clients; more wait in the listener's backlog
  std::chrono::milliseconds wait{30'000};        // of a client while there is no replica; then 503
  std::chrono::milliseconds connect{5'000};      // to the replica, all attempts together
  std::chrono::milliseconds header{30'000};      // for a client to send a whole request header
  std::chrono::milliseconds keep_alive{75'000};  // of a client's connection between two requests
  // Without a byte in either direction, then it is cut; 0: never.
  std::chrono::milliseconds idle{600'000};

  friend bool operator==(const EndpointSpec&, const EndpointSpec&) = default;
};

// What is said there takes the place of what is here.
void apply(const EndpointLimits& limits, EndpointSpec& spec);

[[nodiscard]] boost::json::value to_json(const EndpointSpec& spec);
[[nodiscard]] Result<EndpointSpec> read_endpoint_spec(const boost::json::value& document);

// What an endpoint has done since it was started.
struct EndpointCounts {
  std::uint64_t connections = 0;  // of clients, accepted
  std::uint64_t requests = 0;     // http: answered by a replica; tcp: connections relayed
  std::uint64_t refused = 0;      // http: answered by the endpoint itself (400, 502, 503 …)
  std::uint64_t retried = 0;      // http: requests sent again, unseen by the client
  std::uint64_t cut = 0;          // ended by the endpoint before they were over
  std::uint64_t broken = 0;       // ended by the replica or the client before they were over
  std::uint64_t displaced = 0;    // http: idle connections of clients, ended for others
  std::uint64_t drained = 0;      // over in time while their replica was being drained
  std::uint64_t bytes_in = 0;     // from clients
  std::uint64_t bytes_out = 0;    // to clients
  std::uint32_t open = 0;         // connections of clients now
  std::uint32_t active = 0;       // http: requests in flight now; tcp: connections relayed now

  friend bool operator==(const EndpointCounts&, const EndpointCounts&) = default;
};
[[nodiscard]] boost::json::value to_json(const EndpointCounts& counts);
[[nodiscard]] Result<EndpointCounts> read_endpoint_counts(const boost::json::value& document);

// The control socket (a stream; one JSON object per line, both ways; several clients at once).
//   endpoint → client, at once:
//     {"version":1,"endpoint":PID,"host":"127.0.0.1","port":N,"run":R|null}
//     run: where new traffic goes.
//   client → endpoint:
//     {"do":"route","id":7,"run":12,"port":20003,"drain_ms":30000}
//        new traffic goes to the replica `run` on 127.0.0.1:port → {"done":7}
//        then, for every other run that it had traffic for, at once or when the last of it is over:
//        {"drained":11,"to":12,"finished":40,"cut":0,"broken":0}, sent to every client.
//        What is not over after drain_ms is cut. The same route again is answered again, and
//        {"drained"…} is sent again for the run that the last change of route left.
//     {"do":"hold","id":8}           there is no replica now: new requests wait (spec.wait) →
//                                    {"done":8}. Traffic of runs goes on while they live.
//     {"do":"counts","id":9}         → {"done":9,"counts":{…}}
//     {"do":"end","id":10,"drain_ms":5000}   → {"done":10}; takes no new connection, lets what is
//                                    in flight end within that time, cuts the rest, and exits.
//   A line that is none of these → {"error":"…"}; nothing else happens.

}  // namespace tangram::api
