// RunSpec: everything the shim needs to start one run of a job, written by the daemon into the
// run's folder as spec.json; and the protocol of the shim's control socket. The shim reads no other
// configuration, and works with an older or newer daemon as long as it knows the version.
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
inline constexpr const char* kLockFile = "lock";  // locked by the shim while it runs
inline constexpr const char* kStartedFile =
    "started";  // created before the job starts, so that a run is never started twice
inline constexpr const char* kExitFile = "exit";  // preallocated at start, written at the end
inline constexpr const char* kControlSocket = "control";
inline constexpr const char* kStdoutLog = "stdout.log";  // rotated: stdout.log.1, .2 …
inline constexpr const char* kStderrLog = "stderr.log";

// Set in the environment of every process of a run, to find all of them. Its value is random and
// secret; see shim/run_mark.hpp.
inline constexpr const char* kRunTag = "TANGRAM_RUN";

struct RunSpec {
  std::uint64_t job = 0;
  std::uint32_t run = 0;
  std::string tag;  // the value of TANGRAM_RUN
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;  // complete, nothing is inherited
  std::string directory;
  // The user to run as; ignored unless the shim is root. nullopt: the shim's own user.
  struct User {
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    std::vector<std::uint32_t> groups;
    friend bool operator==(const User&, const User&) = default;
  };
  std::optional<User> user;
  // A PAM session is opened around the job; ignored unless the shim is root. nullopt: none.
  struct Pam {
    std::string user;         // name
    std::string folder = {};  // of service files; empty: the system's, e.g. /etc/pam.d
    std::optional<ResourceLimit> nofile = {};  // before modules change it; nullopt: the shim's
    friend bool operator==(const Pam&, const Pam&) = default;
  };
  std::optional<Pam> pam;
  std::uint32_t umask = 022;
  std::map<std::string, ResourceLimit> resource_limits;
  std::chrono::milliseconds grace{10'000};
  std::optional<std::chrono::milliseconds> time_limit;  // enforced by the shim
  // The part of time_limit that earlier runs of the job used, before it was moved.
  std::chrono::milliseconds time_spent{0};
  std::vector<std::string> probe_command;  // empty: none
  std::chrono::milliseconds probe_timeout{2'000};
  std::uint64_t log_bytes = 64ULL << 20U;  // size at which a log file is rotated
  std::uint32_t log_files = 4;             // number of files kept, including the current one
  // Files of the user to which the run's output is copied, relative to `directory`; empty: none.
  std::string output;
  std::string error;
  std::string cgroup;  // cgroup v2 folder to create and use; empty: none
  std::optional<std::uint32_t> cpu_percent;
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> pids_limit;  // processes and threads

  friend bool operator==(const RunSpec&, const RunSpec&) = default;
};

[[nodiscard]] boost::json::value to_json(const RunSpec& spec);
[[nodiscard]] Result<RunSpec> read_run_spec(const boost::json::value& document);

// How a run ended; the content of the exit file.
struct ExitRecord {
  std::optional<int> code;  // nullopt: ended by a signal, or never ran
  std::optional<int> signal;
  std::string reason;       // set by the shim, e.g. "time limit of 1h reached"
  bool time_limit = false;  // the shim stopped the run at its time limit
  bool stopped = false;     // the shim stopped the run on request
  // Bytes of output that could not be written, and that the logs do not mention: the disk was full
  // to the end. 0 also from older shims.
  std::uint64_t lost_output = 0;
  WallTime started{};
  WallTime ended{};

  friend bool operator==(const ExitRecord&, const ExitRecord&) = default;
};
[[nodiscard]] boost::json::value to_json(const ExitRecord& record);
[[nodiscard]] Result<ExitRecord> read_exit_record(const boost::json::value& document);

// The control socket (a stream; one JSON object per line, both ways; several clients at once).
//   shim → client, on connect and at every change:
//     {"version":1,"state":"starting|running|stopping|over","shim":PID,"pid":PID,"started_us":N}
//     pid is null if the job could not be forked; times are microseconds since the epoch.
//     "takes_checkpoint":true says that the shim knows the request "checkpoint"; older shims do
//     not. "over" carries "exit": the ExitRecord. It is sent after the exit file is durable, then
//     the shim exits. A client that sees EOF before it reads the exit file.
//   client → shim:
//     {"do":"stop"} | {"do":"stop","grace_ms":0}   SIGTERM, grace, SIGKILL; if repeated, the
//                                                   shorter grace; a frozen run is killed at once
//     {"do":"signal","signal":10}                   to the main process's group; with "to":"main"
//                                                   only to it; rejected while the run is frozen
//     {"do":"probe","id":7}      → {"probe":7,"ok":true|false,"detail":"…"}
//     {"do":"freeze","id":8} | {"do":"thaw","id":9}  → {"done":8,"ok":…,"detail":"…"}
//     {"do":"checkpoint","id":10,"signal":10}        → {"done":10,"ok":…,"detail":"…"}
//                                                   the signal, to the main process, if that has a
//                                                   handler for it (SigCgt of /proc/PID/status)
//   Any other line → {"error":"…"}, without further effect.

// Why a job is not sent the signal that requests a checkpoint, e.g. "not ready to be moved: it has
// no handler for SIGUSR1 yet.": the signal would end it.
[[nodiscard]] std::string no_handler_text(int signal);

}  // namespace tangram::api
