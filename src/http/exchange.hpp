// One request and what a route makes of it, free of any HTTP library, so that only the connection
// knows how they travel. One rule: a route decides and returns; what takes time is described here
// and carried out by the connection, which can drop it when the client leaves.
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

#include "http/doors.hpp"
#include "http/query.hpp"

namespace tangram::http {

// What an answer tells of: of anything, of the job {id}, of nothing that changes or only of what is
// on the disk in any case. A lease is taken or renewed once that is on the disk, and until then
// its time must not run out because the asker was kept waiting.
enum class Concern : std::uint8_t { kAll, kJob, kNothing };

struct Request {
  std::string method;
  std::string path;
  Query query;
  std::string content_type;
  std::string body;
  Caller caller;         // as the connection knows him; answer() puts in whom a token stands for
  std::uint64_t id = 0;  // {id} of the route's pattern
  std::string authorization = {};
  std::string once = {};        // Idempotency-Key
  std::string last_event = {};  // Last-Event-ID
  bool is_admitted = false;     // refusal() has said nothing against it
  bool is_for_all = false;      // whoever asks, the answer is the same
  Concern concern = Concern::kAll;
};

inline constexpr const char* kJsonType = "application/json";
inline constexpr const char* kProblemType = "application/problem+json";

struct Response {
  int status = 200;
  std::string type = kJsonType;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  // For the audit log: what came of it, in a few words ("job=7"); never a secret, a command or a
  // value of an environment.
  std::string what = {};
};
[[nodiscard]] Response json_response(const boost::json::value& value, int status = 200);
[[nodiscard]] Response problem_response(const api::Problem& problem);
// `kind` is the last word of the type: "no-such-job".
[[nodiscard]] api::Problem problem(int status, std::string_view kind, std::string detail);

using Respond = std::function<void(Response)>;

// An answer that comes later.
struct Later {
  // Asks; whoever drops what it gives (may be nothing) does not want the answer any more.
  std::function<std::shared_ptr<void>(Respond)> ask;
  std::optional<std::chrono::milliseconds> patience;
  Response too_late = {};  // the answer when it is used up
  // Set where it may take long: who waits. He gets an answer only if he would still be let in.
  std::optional<Caller> waits = {};
  // The audit log, of an answer that is given in place of the one that was asked for.
  std::function<void(int status, std::string_view what)> tell = {};
};

// The output of a job, as it comes.
struct LogWish {
  Caller caller;
  std::uint64_t id = 0;
  std::string file;  // "stdout.log"
  bool follow = false;
  std::optional<std::uint64_t> tail;  // lines
  std::string from;                   // a position; empty: the beginning
};

// Events, as they come.
struct EventWish {
  Caller caller;
  std::uint64_t after = 0;
  bool follow = true;
  std::optional<std::uint64_t> job = {};  // only what concerns it
  std::vector<std::string> kinds = {};    // only these, or those with this first word; empty: all
};
[[nodiscard]] bool is_wanted(const EventWish& wish, const StoredEvent& event);

using Outcome = std::variant<Response, Later, LogWish, EventWish>;

}  // namespace tangram::http
