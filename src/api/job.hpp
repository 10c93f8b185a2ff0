// A job on the wire: what a user submits (JobRequest) and what Tangram reports (JobView). Used by
// the daemon, the command line and plugins. Plain values; the JSON of each type is in the .cpp of
// its name. Reading validates everything that does not depend on the node.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "api/array_spec.hpp"
#include "api/dependency.hpp"
#include "base/error.hpp"

namespace tangram::api {

enum class JobKind : std::uint8_t {
  kBatch,
  kService,
  kLease,  // in views only; see lease.hpp
};
enum class Restart : std::uint8_t { kNever, kOnFailure, kAlways, kOnNodeFault };

// How the readiness of a service is detected.
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
  std::chrono::milliseconds deadline{600'000};  // a job not ready by then has failed

  friend bool operator==(const Probe&, const Probe&) = default;
};

// How clients reach a service: directly, or through an endpoint with a stable address.
enum class EndpointMode : std::uint8_t {
  kNone,  // directly by the port of its process, which changes with a move
  kTcp,   // relayed per connection: a connection stays with its replica
  kHttp,  // HTTP/1.1, relayed per request, even on keep-alive connections
};

inline constexpr std::uint32_t kMaxConnections = 1'000'000;

// Limits and timeouts of an endpoint; see docs/endpoints.md. Unset: the daemon's configuration.
struct EndpointLimits {
  std::optional<std::chrono::milliseconds> wait;
  std::optional<std::chrono::milliseconds> connect;
  std::optional<std::chrono::milliseconds> keep_alive;
  std::optional<std::chrono::milliseconds> idle;  // 0: no timeout; JSON: "none"
  std::optional<std::uint32_t> most_connections;

  friend bool operator==(const EndpointLimits&, const EndpointLimits&) = default;
};

struct Endpoint {
  std::optional<EndpointMode> mode;         // nullopt: http if the probe is, else tcp
  std::string host;                         // to listen on; empty: the daemon's default
  bool forwarded = false;                   // http: adds X-Forwarded-For, -Host, -Proto
  std::chrono::milliseconds drain{30'000};  // how long exchanges in flight may finish at a move
  EndpointLimits limits{};                  // JSON: keys of the endpoint itself

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// How a job can be moved.
enum class MoveMethod : std::uint8_t {
  kNever,
  kReplica,     // services: a second replica is started and takes over
  kCheckpoint,  // batch jobs: the job saves its state on a signal and resumes elsewhere
};

struct MoveOptions {
  std::optional<MoveMethod> way;  // nullopt: the node's default, decided at the submission
  int signal = 10;  // checkpoint: the signal that requests one (SIGUSR1); JSON: "USR1"
  std::chrono::milliseconds deadline{60'000};  // checkpoint: to save the state, and to resume

  friend bool operator==(const MoveOptions&, const MoveOptions&) = default;
};

struct ResourceLimit {  // as in setrlimit(2); nullopt: unlimited
  std::optional<std::uint64_t> soft;
  std::optional<std::uint64_t> hard;

  friend bool operator==(const ResourceLimit&, const ResourceLimit&) = default;
};

inline constexpr int kLowestPriority = -100;
inline constexpr int kHighestPriority = 100;

// A job as submitted. Absent values get the daemon's defaults.
struct JobRequest {
  std::string name;                  // empty: the program's name
  std::vector<std::string> command;  // argv; the first is looked up in the job's PATH
  std::map<std::string, std::string> environment;
  std::string directory;  // absolute; empty: the user's home
  // Files to which the output is copied, relative to `directory`, with %j for the job's ID, %A for
  // that of its array, %a for its index there, and %% for %; empty: none. Without `error`, `output`
  // gets both streams.
  std::string output;
  std::string error;
  std::optional<std::uint32_t> umask;  // JSON: octal text, "022"
  std::map<std::string, ResourceLimit>
      resource_limits;  // by name without RLIMIT_, lower case: "nofile"

  std::string profile;                          // "2g.10gb"; or
  std::optional<std::uint64_t> gpu_memory_mib;  // the smallest profile with at least this much
  std::string gpu_model;                        // only on GPUs of this model; empty: on any
  int priority = 0;                             // kLowestPriority to kHighestPriority

  JobKind kind = JobKind::kBatch;
  std::optional<std::uint16_t> port;  // of a service; nullopt: chosen by the daemon
  Probe probe;                        // of a service
  Endpoint endpoint;                  // of a service
  MoveOptions move;
  std::optional<std::chrono::milliseconds> grace;  // between SIGTERM and SIGKILL
  Restart restart = Restart::kNever;
  std::uint16_t max_restarts = 3;
  std::optional<std::chrono::milliseconds> time_limit;
  std::optional<std::uint32_t> cpu_percent;   // e.g. 150 for one and a half cores; needs cgroup v2
  std::optional<std::uint64_t> memory_bytes;  // needs cgroup v2
  std::map<std::string, std::string> labels;
  bool hold = false;
  DependencyList after;            // jobs that must end before it may start
  std::optional<ArraySpec> array;  // many jobs like this one; JSON: "1-100%8"

  friend bool operator==(const JobRequest&, const JobRequest&) = default;
};

// The state of a job as reported to users.
enum class JobState : std::uint8_t {
  kHeld,
  kQueued,
  kPlaced,    // its instance is being created
  kStarting,  // its process exists but is not ready yet
  kRunning,
  kStopping,
  // Terminal states:
  kCompleted,  // exited with 0
  kFailed,
  kCancelled,
  kRefused,  // its submission was not accepted
};
[[nodiscard]] constexpr bool is_terminal(JobState state) { return state >= JobState::kCompleted; }

using WallTime = std::chrono::sys_time<std::chrono::microseconds>;

// One run of a job: where it ran, and the move that led there.
struct RunRecord {
  std::optional<std::uint32_t> run;  // nullopt: the move was rolled back before a run was created
  std::uint32_t gpu = 0;
  std::uint32_t start = 0;
  std::string profile;
  std::string mig_uuid;        // JSON: "uuid"
  std::string how;             // "placed", or the kind of the move: "intra-GPU", "asked"
  std::string result;          // of the move: "done", "rolled-back"; empty: in progress, or no move
  std::string reason;          // why the move was rolled back
  std::uint64_t finished = 0;  // exchanges of the previous run that finished while draining
  std::uint64_t cut = 0;       // exchanges of the previous run that were cut
  std::optional<WallTime> started;
  std::optional<WallTime> ended;

  friend bool operator==(const RunRecord&, const RunRecord&) = default;
};

struct JobView {
  std::uint64_t id = 0;
  std::optional<std::uint64_t> array;        // whose task it is
  std::optional<std::uint32_t> array_index;  // JSON: "index"
  std::string user;
  std::uint32_t uid = 0;
  JobRequest request;  // an outline has no command, environment and directory
  bool outline = false;
  JobState state = JobState::kQueued;
  std::string reason;  // why it waits, failed or is held; may be empty
  std::string profile;
  std::optional<std::uint32_t> gpu;  // index in the node
  std::string gpu_uuid;
  std::optional<std::uint32_t> start;
  std::string mig_uuid;  // JSON: "uuid"
  std::optional<std::int32_t> pid;
  std::optional<std::uint16_t> port;  // of a service
  std::string address;                // of the endpoint, e.g. "127.0.0.1:8000"; empty: none
  std::optional<int> exit_code;       // of the last run; nullopt: running, or ended by a signal
  std::optional<int> exit_signal;
  std::uint32_t restarts = 0;
  WallTime submitted{};
  std::optional<WallTime> started;  // of the last run
  std::optional<WallTime> ended;
  bool moving = false;
  DependencyList waits_for;       // the jobs that must still end before it may start
  std::vector<RunRecord> places;  // its runs, oldest first; empty in lists of jobs
};

// Names as used in JSON: "batch", "on-failure", "running".
[[nodiscard]] std::string_view name_of(JobKind kind);
[[nodiscard]] std::string_view name_of(Restart restart);
[[nodiscard]] std::string_view name_of(JobState state);
[[nodiscard]] std::string_view name_of(EndpointMode mode);
[[nodiscard]] std::string_view name_of(MoveMethod way);
[[nodiscard]] std::optional<JobState> find_state(std::string_view name);

// In JSON, durations are strings such as "90s", "1h30m" or "500ms", or numbers of seconds; sizes
// are numbers of bytes, or strings such as "8GiB" or "512MiB".
[[nodiscard]] Result<std::chrono::milliseconds> parse_duration(std::string_view text);
[[nodiscard]] std::string duration_text(std::chrono::milliseconds duration);
[[nodiscard]] Result<std::uint64_t> parse_bytes(std::string_view text);
[[nodiscard]] std::string wall_text(WallTime when);  // "2026-11-16T11:42:03.123456Z"
[[nodiscard]] Result<WallTime> parse_wall(std::string_view text);

using Labels = std::map<std::string, std::string>;
[[nodiscard]] bool is_label_name(std::string_view name);
inline constexpr std::string_view kLabelNameForm =
    "a label name has 1 to 128 characters of a-z, 0-9, '.', '_', '/' and '-'";
// For the store: a JSON object, or "" if there are no labels.
[[nodiscard]] std::string labels_text(const Labels& labels);
[[nodiscard]] Labels read_labels(std::string_view text);

[[nodiscard]] boost::json::value to_json(const JobRequest& request);
// The error message names the key ("probe.interval") and says what is allowed. Unknown keys are
// errors; the message suggests the nearest known one.
[[nodiscard]] Result<JobRequest> read_job_request(const boost::json::value& document);

// The effective values, with defaults applied where the request is silent. job_name() is always
// printable and of limited length, even if it is derived from the command.
[[nodiscard]] std::string job_name(const JobRequest& request);
// A task of an array, for patterns.
struct TaskOfArray {
  std::uint64_t array = 0;
  std::uint32_t index = 0;
};
// The path of JobRequest::output or error for a job. Without a task, %a and %A are errors.
[[nodiscard]] Result<std::string> output_path(std::string_view pattern, std::uint64_t job,
                                              const std::optional<TaskOfArray>& task = {});
[[nodiscard]] EndpointMode endpoint_mode(const JobRequest& request);
[[nodiscard]] MoveMethod move_method(const JobRequest& request);

[[nodiscard]] boost::json::value to_json(const JobView& job);
[[nodiscard]] Result<JobView> read_job_view(const boost::json::value& document);

}  // namespace tangram::api
