// The run folder as the daemon uses it: created before the shim is started, read while the shim
// runs and afterwards. The names of its files are in api/run_spec.hpp. No function needs a running
// shim or interferes with one.
#pragma once

#include <optional>
#include <string>

#include "api/run_spec.hpp"
#include "base/error.hpp"
#include "os/descriptor.hpp"

namespace tangram::shim {

// Exit statuses of tangram-shim itself. How the job ended is in the exit file only.
enum class ShimExit : int {
  kDone = 0,    // the run has ended and its exit record is written
  kFailed = 1,  // nothing was run: the reason is on standard error and the ready descriptor
  kUsage = 2,   // wrong arguments
  kAlreadyRunning = 10,  // another shim holds this folder; nothing was done
  kAlreadyRan = 11,      // the run was started before; it is never started twice
  kDiskFull = 12,        // no disk space for the exit record; nothing was run
  kBadSpec = 13,         // spec.json is missing, damaged or of another version; nothing was run
  kRecordLost = 14,      // the job ran and ended, but its record could not be written
};

// The exit file has this size from the start: its disk space is reserved before the job runs.
inline constexpr std::size_t kExitFileBytes = 4'096;

// Creates the folder (0700; its parent must exist) and spec.json (0600), durably. An existing
// folder is accepted if no run was started in it.
[[nodiscard]] Result<void> prepare_folder(const std::string& folder, const api::RunSpec& spec);

[[nodiscard]] Result<api::RunSpec> read_spec(const std::string& folder);

// Whether the job may have run; true if the folder cannot be read.
[[nodiscard]] bool was_started(const std::string& folder);

struct Started {
  int shim = 0;      // its pid
  std::string boot;  // os::boot_id() at the start; after a reboot all processes of the run are gone
  std::string tag;
};
// nullopt: not started. A file that a power failure left empty is an error; was_started() is true.
[[nodiscard]] Result<std::optional<Started>> read_started(const std::string& folder);

// Whether a shim holds the folder's lock; true if that cannot be told (out of descriptors, I/O
// error): a run whose shim may be alive must not be taken for lost. Does not take the lock, so it
// cannot block a shim.
[[nodiscard]] bool is_shim_running(const std::string& folder);

// nullopt: there is no record (yet). An error: the record is damaged or cannot be read.
[[nodiscard]] Result<std::optional<api::ExitRecord>> read_exit(const std::string& folder);

// A non-blocking connection to the shim's control socket. The folder's path may have any length.
[[nodiscard]] Result<os::Descriptor> connect_control(const std::string& folder);

}  // namespace tangram::shim
