// The folder of a run, as the daemon sees it: made before the shim is started, read while it lives
// and after it ended. The names of its files are in api/run_spec.hpp. One rule: nothing here needs
// a living shim, and nothing here disturbs one.
#pragma once

#include <optional>
#include <string>

#include "api/run_spec.hpp"
#include "base/error.hpp"
#include "files/descriptor.hpp"

namespace tangram::shim {

// How tangram-shim itself ends. The fate of the job is in the exit file, never here.
enum class ShimExit : int {
  kDone = 0,    // the run is over and its record is written
  kFailed = 1,  // nothing was run: the reason is on standard error and the ready descriptor
  kUsage = 2,   // wrong arguments
  kAlreadyRunning = 10,  // another shim holds this folder; nothing was done
  kAlreadyRan = 11,      // the run was started before; it is never started twice
  kNoRoom = 12,          // no room on the disk for the exit record; nothing was run
  kBadSpec = 13,         // spec.json is missing, damaged or of another version; nothing was run
  kRecordLost = 14,      // the job ran and ended, but its record could not be written
};

// The exit file has this size from the start.
inline constexpr std::size_t kExitFileBytes = 4'096;

// Makes the folder (0700; its parent must exist) and spec.json (0600), durably. A folder that is
// there already is accepted as long as no run was started in it.
[[nodiscard]] Result<void> prepare_folder(const std::string& folder, const api::RunSpec& spec);

[[nodiscard]] Result<api::RunSpec> read_spec(const std::string& folder);

// Whether the job may have run. If the folder cannot be read: yes, since it may.
[[nodiscard]] bool was_started(const std::string& folder);

struct Started {
  int shim = 0;      // its pid
  std::string boot;  // files::boot_id() then; in another one all processes of the run are gone
  std::string tag;
};
// none: not started. A file that a power failure left empty is an error; was_started() holds.
[[nodiscard]] Result<std::optional<Started>> read_started(const std::string& folder);

// Whether a shim holds the folder. It does not take the lock, so it never gets in a shim's way.
[[nodiscard]] bool shim_lives(const std::string& folder);

// none: there is no record (yet). An error: the record is damaged, or cannot be read.
[[nodiscard]] Result<std::optional<api::ExitRecord>> read_exit(const std::string& folder);

// A connection to the shim's control socket (not blocking), however long the folder's path is.
[[nodiscard]] Result<files::Descriptor> connect_control(const std::string& folder);

}  // namespace tangram::shim
