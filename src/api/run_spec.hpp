// RunSpec: everything the shim needs to start one run of a job, written by the daemon into the
// run's folder as spec.json; and the words that daemon and shim exchange afterwards. One rule: it
// is complete: the shim looks at nothing else, and serves a daemon older or newer than itself as
// long as the version is one it knows.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "api/job.hpp"
#include "base/error.hpp"

namespace tangram::api {

inline constexpr int kShimVersion = 1;

// The files of a run's folder.
inline constexpr const char* kSpecFile = "spec.json";
inline constexpr const char* kLockFile = "lock";  // locked by the shim while it lives
inline constexpr const char* kStartedFile =
    "started";                                    // there once the job may have run; never twice
inline constexpr const char* kExitFile = "exit";  // set aside at start, filled at the end
inline constexpr const char* kControlSocket = "control";
inline constexpr const char* kStdoutLog = "stdout.log";  // older ones: stdout.log.1, .2 …
inline constexpr const char* kStderrLog = "stderr.log";

// In the environment of every process of a run, so that all of them can be found: "<node>/<run>".
inline constexpr const char* kRunTag = "TANGRAM_RUN";

struct RunSpec {
  std::uint64_t job = 0;
  std::uint32_t run = 0;
  std::string tag;  // the value of TANGRAM_RUN
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;  // all of it
  std::string directory;
  // As whom; only honoured when the shim is root. none: as the shim itself.
  struct User {
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    std::vector<std::uint32_t> groups;
    friend bool operator==(const User&, const User&) = default;
  };
  std::optional<User> user;
  std::uint32_t umask = 022;
  std::map<std::string, ResourceLimit> resource_limits;
  std::chrono::milliseconds grace{10'000};
  std::optional<std::chrono::milliseconds> time_limit;  // kept by the shim, daemon or not
  // Of the limit, by the runs that this one goes on for after moves.
  std::chrono::milliseconds time_spent{0};
  std::vector<std::string> probe_command;  // empty: none
  std::chrono::milliseconds probe_timeout{2'000};
  std::uint64_t log_bytes = 64ULL << 20U;  // of one file of a log, then it is rotated
  std::uint32_t log_files = 4;             // kept, the current one included
  std::string cgroup;                      // cgroup v2 folder to make and use; empty: none
  std::optional<std::uint32_t> cpu_percent;
  std::optional<std::uint64_t> memory_bytes;

  friend bool operator==(const RunSpec&, const RunSpec&) = default;
};

[[nodiscard]] boost::json::value to_json(const RunSpec& spec);
[[nodiscard]] Result<RunSpec> read_run_spec(const boost::json::value& document);

// How a run ended; the content of the exit file.
struct ExitRecord {
  std::optional<int> code;  // none: by a signal, or it never ran
  std::optional<int> signal;
  std::string reason;       // what the shim knows besides: "time limit of 1h reached"
  bool time_limit = false;  // the shim ended it for that
  bool stopped = false;     // the shim was told to stop it
  WallTime started{};
  WallTime ended{};

  friend bool operator==(const ExitRecord&, const ExitRecord&) = default;
};
[[nodiscard]] boost::json::value to_json(const ExitRecord& record);
[[nodiscard]] Result<ExitRecord> read_exit_record(const boost::json::value& document);

// The control socket (a stream; one JSON object per line, both ways; several clients at once).
//   shim → client, at once and at every change:
//     {"version":1,"state":"starting|running|stopping|over","shim":PID,"pid":PID,"started_us":N}
//     pid is null if the job could not be forked; times are microseconds since the epoch.
//     "over" carries "exit": the ExitRecord, is sent after the exit file is durable, and the
//     shim ends after it; whoever sees the end of the stream reads the exit file.
//   client → shim:
//     {"do":"stop"} | {"do":"stop","grace_ms":0}   SIGTERM, grace, SIGKILL; repeated: the shorter;
//                                                   what is frozen is killed at once
//     {"do":"signal","signal":10}                   to the main process's group; "to":"main": to it
//                                                   alone; refused while the run is frozen
//     {"do":"probe","id":7}      → {"probe":7,"ok":true|false,"detail":"…"}
//     {"do":"freeze","id":8} | {"do":"thaw","id":9}  → {"done":8,"ok":…,"detail":"…"}
//   A line that is none of these → {"error":"…"}; nothing else happens.

}  // namespace tangram::api
