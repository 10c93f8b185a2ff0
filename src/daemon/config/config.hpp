// Config: the daemon's configuration, from a TOML file and the command line. Every key is in
// packaging/tangram.toml with its default. A file with an error is rejected as a whole: the daemon
// does not start, or keeps its configuration.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "api/job.hpp"
#include "api/tuning.hpp"
#include "base/error.hpp"
#include "core/tuning.hpp"
#include "daemon/config/hook_options.hpp"
#include "daemon/config/user_limits.hpp"
#include "daemon/engine/default_tuning.hpp"
#include "store/store.hpp"

namespace tangram::daemon {

inline constexpr const char* kConfigFile = "/etc/tangram/tangram.toml";

// HTTP over TLS for remote clients, which authenticate with a token.
struct Tcp {
  std::string listen;       // "0.0.0.0:7443"; empty: disabled
  std::string certificate;  // PEM, the chain
  std::string key;          // PEM
};

// Defaults and limits of service endpoints.
struct EndpointDefaults {
  std::string host = "127.0.0.1";
  std::uint16_t first_port = 19'000;
  std::uint16_t last_port = 19'999;
  std::chrono::milliseconds wait{30'000};
  std::chrono::milliseconds connect{5'000};
  std::chrono::milliseconds keep_alive{75'000};
  std::chrono::milliseconds idle{600'000};  // 0: no limit
  std::uint32_t most_connections = 4'096;

  friend bool operator==(const EndpointDefaults&, const EndpointDefaults&) = default;
};

// On which GPUs the daemon switches MIG mode on if it is off and no process uses the GPU.
enum class EnableMig : std::uint8_t {
  kNever,
  kManaged,  // GPUs in the store, if that needs no reset (Hopper and later)
  kAll,
};

struct Config {
  // [daemon]
  std::string state_dir = "/var/lib/tangram";
  std::string socket = "/run/tangram/tangram.sock";
  unsigned socket_mode = 0666;
  // [tcp]
  Tcp tcp;
  // [access]
  std::string admins;  // name of a group; root is always an admin
  bool only_admins_submit = false;
  std::uint32_t connections_per_user = 256;
  UserLimits limits;
  // [log]
  std::string log_level = "info";
  bool log_json = false;
  std::string audit;  // path of the audit log; empty: audit.log in state_dir
  // [device]
  std::string library;  // empty: TANGRAM_NVML, else the driver's
  std::string emulate;  // a node like 4xA100-40GB; empty: real GPUs
  EnableMig enable_mig = EnableMig::kManaged;
  std::set<std::string> mig_gpus;  // UUIDs
  std::chrono::milliseconds change_time{60'000};
  std::chrono::milliseconds in_use_time{10'000};
  std::chrono::milliseconds observe_every{10'000};
  std::set<std::uint64_t> fatal_xids = {46, 48,  62,  64,  74,  79,  92,
                                        95, 109, 119, 120, 136, 140, 143};
  // [scheduler]
  core::Tuning tuning = default_tuning();  // of a new store: the defaults and the file's keys
  api::TuningChange tuning_in_file;        // only the keys that the file sets
  // [jobs]
  api::MoveMethod move_services = api::MoveMethod::kNever;  // of services that do not say so
  std::chrono::milliseconds grace{10'000};
  std::chrono::milliseconds start_time{30'000};
  std::uint64_t log_bytes = 64ULL << 20U;
  std::uint32_t log_files = 4;
  std::uint16_t first_port = 20'000;
  std::uint16_t last_port = 29'999;
  std::uint32_t lost_found_days = 30;  // retention of lost+found; 0: for ever
  std::string cgroup = "auto";         // auto, off, or a folder of a cgroup v2 hierarchy
  std::uint64_t pids_limit = 16'384;   // processes and threads of a run; 0: no limit
  bool pam = false;                    // open a PAM session for each run
  // [leases]
  std::chrono::milliseconds linger{120'000};
  // [endpoints]
  EndpointDefaults endpoints;
  // [hooks]
  HookOptions hooks;
  // [history]
  store::Retention retention;
};

// `file` is the name to use in error messages.
[[nodiscard]] Result<Config> parse_config(std::string_view text, const std::string& file);
// Reads `path` or, without it, kConfigFile. Only a `path` that is given must exist.
[[nodiscard]] Result<Config> read_config(const std::optional<std::string>& path);

// The keys in which `next` differs from `now` and that take effect only at a restart.
[[nodiscard]] std::vector<std::string> needs_restart(const Config& now, const Config& next);

}  // namespace tangram::daemon
