// A job on the wire: what a user asks for (JobRequest) and what Tangram says of it (JobView). The
// daemon, the command line and every plugin speak these. One rule: plain values; the JSON of a type
// is in the .cpp of its name, and reading it checks everything that needs no look at the node.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "base/error.hpp"

namespace tangram::api {

enum class JobKind : std::uint8_t {
  kBatch,
  kService,
  kLease,  // in views only; see lease.hpp
};
enum class Restart : std::uint8_t { kNever, kOnFailure, kAlways };

// How a service says that it is ready.
struct Probe {
  enum class Kind : std::uint8_t {
    kNone,     // ready once its process runs
    kTcp,      // its port accepts a connection
    kHttp,     // GET path on its port answers 200–399
    kCommand,  // a command, run as the job's user in its environment, exits with 0
  };
  Kind kind = Kind::kNone;
  std::string path = "/";            // kHttp
  std::vector<std::string> command;  // kCommand
  std::chrono::milliseconds interval{500};
  std::chrono::milliseconds timeout{2'000};     // of one attempt
  std::chrono::milliseconds deadline{600'000};  // after it, a job that was never ready has failed

  friend bool operator==(const Probe&, const Probe&) = default;
};

// How clients reach a service, wherever it is: through an address that stays the same.
enum class EndpointMode : std::uint8_t {
  kNone,  // by the port of its process, which a move would change
  kTcp,   // by connection: a connection stays with the replica it began with
  kHttp,  // HTTP/1.1, by request: also on a connection that is kept alive
};

inline constexpr std::uint32_t kMostConnections = 1'000'000;

// How much an endpoint bears, and for how long; docs/endpoints.md says what each is. What is not
// said is as the daemon is configured.
struct EndpointLimits {
  std::optional<std::chrono::milliseconds> wait;
  std::optional<std::chrono::milliseconds> connect;
  std::optional<std::chrono::milliseconds> keep_alive;
  std::optional<std::chrono::milliseconds> idle;  // 0: for ever; JSON: "none"
  std::optional<std::uint32_t> most_connections;

  friend bool operator==(const EndpointLimits&, const EndpointLimits&) = default;
};

struct Endpoint {
  std::optional<EndpointMode> mode;         // none: http if its probe is, else tcp; services only
  std::string host;                         // to listen on; empty: the daemon's default
  bool forwarded = false;                   // http: adds X-Forwarded-For, -Host, -Proto
  std::chrono::milliseconds drain{30'000};  // what is in flight at a move may last so long
  EndpointLimits limits{};                  // JSON: among the others

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// How a job can be moved.
enum class MoveWay : std::uint8_t {
  kNever,
  kReplica,     // a second one is started and takes over: services
  kCheckpoint,  // it saves its state on a signal and goes on from it elsewhere: batch jobs
};

struct MoveOptions {
  std::optional<MoveWay> way;  // none: replica for services with a probe, else never
  int signal = 10;             // checkpoint: sent to ask for one (SIGUSR1); JSON: "USR1"
  std::chrono::milliseconds deadline{60'000};  // checkpoint: to save it, and again to resume

  friend bool operator==(const MoveOptions&, const MoveOptions&) = default;
};

struct ResourceLimit {  // as setrlimit; none: unlimited
  std::optional<std::uint64_t> soft;
  std::optional<std::uint64_t> hard;

  friend bool operator==(const ResourceLimit&, const ResourceLimit&) = default;
};

// What a user asks for. What is absent has the daemon's default.
struct JobRequest {
  std::string name;                  // empty: the command's own name
  std::vector<std::string> command;  // argv; the first is looked up in the job's PATH
  std::map<std::string, std::string> environment;
  std::string directory;               // absolute; empty: the user's home
  std::optional<std::uint32_t> umask;  // JSON: octal text, "022"
  std::map<std::string, ResourceLimit>
      resource_limits;  // by name without RLIMIT_, lower case: "nofile"

  std::string profile;                          // "2g.10gb"; or
  std::optional<std::uint64_t> gpu_memory_mib;  // the smallest profile that has so much

  JobKind kind = JobKind::kBatch;
  std::optional<std::uint16_t> port;  // of a service, for its clients; none: chosen by the daemon
  Probe probe;                        // of a service
  Endpoint endpoint;                  // of a service
  MoveOptions move;
  std::optional<std::chrono::milliseconds> grace;  // between SIGTERM and SIGKILL
  Restart restart = Restart::kNever;
  std::uint16_t max_restarts = 3;
  std::optional<std::chrono::milliseconds> time_limit;
  std::optional<std::uint32_t> cpu_percent;   // 150: one and a half cores; needs cgroup v2
  std::optional<std::uint64_t> memory_bytes;  // needs cgroup v2
  std::map<std::string, std::string> labels;
  bool hold = false;

  friend bool operator==(const JobRequest&, const JobRequest&) = default;
};

// Where a job stands, for people.
enum class JobState : std::uint8_t {
  kHeld,
  kQueued,
  kPlaced,    // its instance is being made
  kStarting,  // its process is there, not ready yet
  kRunning,
  kStopping,
  // Over:
  kCompleted,  // exited with 0
  kFailed,
  kCancelled,
  kRefused,  // its submission was not accepted
};
[[nodiscard]] constexpr bool is_over(JobState state) { return state >= JobState::kCompleted; }

using WallTime = std::chrono::sys_time<std::chrono::microseconds>;

// Where one run of a job was.
struct Place {
  std::optional<std::uint32_t> run;  // none: the move was taken back before it came to one
  std::uint32_t gpu = 0;
  std::uint32_t start = 0;
  std::string profile;
  std::string mig_uuid;  // JSON: "uuid"
  std::string how;       // "placed", or the kind of move that led there: "intra-GPU", "asked"
  std::string result;    // of that move: "done", "rolled-back"; empty: it is under way, or none
  std::string reason;    // why it was taken back
  std::uint64_t finished = 0;  // what the run before had in flight then and ended by itself
  std::uint64_t cut = 0;       // and what did not
  std::optional<WallTime> started;
  std::optional<WallTime> ended;

  friend bool operator==(const Place&, const Place&) = default;
};

struct JobView {
  std::uint64_t id = 0;
  std::string user;
  std::uint32_t uid = 0;
  JobRequest request;  // in outlines without command, environment and directory
  bool outline = false;
  JobState state = JobState::kQueued;
  std::string reason;  // why it waits, failed or was held; empty if there is nothing to say
  std::string profile;
  std::optional<std::uint32_t> gpu;  // index in the node
  std::string gpu_uuid;
  std::optional<std::uint32_t> start;
  std::string mig_uuid;  // JSON: "uuid"
  std::optional<std::int32_t> pid;
  std::optional<std::uint16_t> port;  // for its clients
  std::string address;                // "127.0.0.1:8000", of its endpoint; empty: none
  std::optional<int> exit_code;       // of the last run; none: still runs, or ended by a signal
  std::optional<int> exit_signal;
  std::uint32_t restarts = 0;
  WallTime submitted{};
  std::optional<WallTime> started;  // of the last run
  std::optional<WallTime> ended;
  bool moving = false;
  std::vector<Place> places;  // where it was and is, the oldest first; only when asked for alone
};

// Names as they stand in JSON: "batch", "on-failure", "running".
[[nodiscard]] std::string_view name_of(JobKind kind);
[[nodiscard]] std::string_view name_of(Restart restart);
[[nodiscard]] std::string_view name_of(JobState state);
[[nodiscard]] std::string_view name_of(EndpointMode mode);
[[nodiscard]] std::string_view name_of(MoveWay way);
[[nodiscard]] std::optional<JobState> find_state(std::string_view name);

// Durations are JSON texts "90s", "1h30m", "500ms", or numbers of seconds; sizes in bytes are
// numbers, or texts "8GiB", "512MiB".
[[nodiscard]] Result<std::chrono::milliseconds> parse_duration(std::string_view text);
[[nodiscard]] std::string duration_text(std::chrono::milliseconds duration);
[[nodiscard]] Result<std::uint64_t> parse_bytes(std::string_view text);
[[nodiscard]] std::string wall_text(WallTime when);  // "2026-11-16T11:42:03.123456Z"
[[nodiscard]] Result<WallTime> parse_wall(std::string_view text);

using Labels = std::map<std::string, std::string>;
[[nodiscard]] bool is_label_name(std::string_view name);
inline constexpr std::string_view kLabelNameForm =
    "the name of a label has 1 to 128 of a-z, 0-9, '.', '_', '/' and '-'";
// As a text that can be kept: a JSON object, or nothing if there are none.
[[nodiscard]] std::string labels_text(const Labels& labels);
[[nodiscard]] Labels read_labels(std::string_view text);

[[nodiscard]] boost::json::value to_json(const JobRequest& request);
// The error names the key ("probe.interval"), what is wrong and what is allowed. Unknown keys are
// errors with the nearest known one. `document` is parsed already.
[[nodiscard]] Result<JobRequest> read_job_request(const boost::json::value& document);

// What holds where the request is silent. A name is of one form, whoever gave it.
[[nodiscard]] std::string job_name(const JobRequest& request);
[[nodiscard]] EndpointMode endpoint_mode(const JobRequest& request);
[[nodiscard]] MoveWay move_way(const JobRequest& request);

[[nodiscard]] boost::json::value to_json(const JobView& job);
[[nodiscard]] Result<JobView> read_job_view(const boost::json::value& document);

}  // namespace tangram::api
