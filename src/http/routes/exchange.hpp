// Request and Outcome: an API request and what its route returns, independent of any HTTP library;
// only the connection knows the protocol. A route never blocks: an answer that takes time is
// returned as a description (DeferredResponse, LogStreamRequest, EventStreamRequest) that the
// connection carries out, and drops when the client disconnects.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <boost/json/value.hpp>

#include "http/routes/api_handlers.hpp"
#include "http/routes/query.hpp"

namespace tangram::http {

// What must be durable (fsync has returned) before a request is handled: everything, the job {id},
// or nothing. Acquiring and renewing leases need nothing: they reply when their own change is
// durable, and a renewal that waited longer could let the lease expire.
enum class DurabilityNeed : std::uint8_t { kAll, kJob, kNothing };

struct Request {
  std::string method;
  std::string path;
  Query query;
  std::string content_type;
  std::string body;
  Caller caller;         // the peer; authentication replaces it by the user of the token
  std::uint64_t id = 0;  // {id} of the route's pattern
  std::string authorization = {};
  std::string idempotency_key = {};  // header Idempotency-Key
  std::string last_event_id = {};    // header Last-Event-ID
  bool is_authorized = false;        // check_access() has passed
  bool is_public = false;            // the route needs no authentication
  DurabilityNeed durability = DurabilityNeed::kAll;
};

inline constexpr const char* kJsonType = "application/json";
inline constexpr const char* kProblemType = "application/problem+json";

struct Response {
  int status = 200;
  std::string type = kJsonType;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  // Summary of the effect for the audit log ("job=7"). Never contains a secret, a command or the
  // value of an environment variable.
  std::string what = {};
};
[[nodiscard]] Response json_response(const boost::json::value& value, int status = 200);
[[nodiscard]] Response problem_response(const api::Problem& problem);
// `kind` is the last part of the problem type: "no-such-gpu" for urn:tangram:no-such-gpu.
[[nodiscard]] api::Problem problem(int status, std::string_view kind, std::string detail);

using Respond = std::function<void(Response)>;

// A response that is produced later.
struct DeferredResponse {
  // Starts the operation, which calls its argument once with the response. Dropping the returned
  // handle (may be null) cancels the wait: the client has disconnected.
  std::function<std::shared_ptr<void>(Respond)> start;
  std::optional<std::chrono::milliseconds> timeout;  // nullopt: none
  Response timeout_response = {};
  // Set for operations that may take long: the caller whose token is checked again while waiting.
  // If it is no longer valid, the response is 401.
  std::optional<Caller> revalidate = {};
  // Writes an audit record for a response that the connection sends in place of the operation's.
  std::function<void(int status, std::string_view what)> audit = {};
};

// The output of a job, streamed as it is written.
struct LogStreamRequest {
  Caller caller;
  std::uint64_t id = 0;
  std::string file;  // "stdout.log"
  bool follow = false;
  std::optional<std::uint64_t> tail;  // start this many lines before the end
  std::string from;                   // start at this LogPosition; empty: the beginning
};

// Events, streamed as they are added.
struct EventStreamRequest {
  Caller caller;
  std::uint64_t after = 0;
  bool follow = true;
  std::optional<std::uint64_t> job = {};  // only events about this job
  std::vector<std::string> kinds = {};    // these kinds, or kinds with this first word; empty: all
};
[[nodiscard]] bool is_wanted(const EventStreamRequest& request, const StoredEvent& event);

using Outcome = std::variant<Response, DeferredResponse, LogStreamRequest, EventStreamRequest>;

}  // namespace tangram::http
