// Claim: the right of this shim to run the job of a run folder, once, and the disk space reserved
// for its exit record. The job is started only after the files lock, exit and started are durable,
// so that neither a second shim, a crash nor a full disk can run it twice or lose its exit record.
#pragma once

#include <chrono>
#include <expected>
#include <string>

#include "api/run_spec.hpp"
#include "base/error.hpp"
#include "os/descriptor.hpp"
#include "shim/run_folder.hpp"

namespace tangram::shim {

// Why nothing was run.
struct Refusal {
  ShimExit code = ShimExit::kFailed;
  std::string reason;
};

class Claim {
 public:
  // Takes the lock, which is held until the Claim is destroyed. Refused if another shim holds it or
  // the run was started before. `folder` must stay open that long.
  [[nodiscard]] static std::expected<Claim, Refusal> take(int folder);

  // Creates the exit file with its full size.
  [[nodiscard]] std::expected<void, Refusal> reserve_exit_file();
  // Records the run as started.
  [[nodiscard]] std::expected<void, Refusal> mark_started(const std::string& tag) const;

  // Writes the exit record; retries for `timeout` if that fails. Blocks.
  [[nodiscard]] Result<void> record(const api::ExitRecord& record,
                                    std::chrono::milliseconds timeout) const;

 private:
  Claim(int folder, os::Descriptor lock) : folder_(folder), lock_(std::move(lock)) {}

  int folder_;
  os::Descriptor lock_;
  os::Descriptor exit_{-1};
};

// Makes sure that the run in `folder` never starts, so that it can be reported as never started.
// Returns false if a shim holds or has held the folder: the run may have started. Blocks.
[[nodiscard]] Result<bool> seal_run_folder(const std::string& folder);

// The content of the exit file: a line of JSON padded with blanks to kExitFileBytes. A reason that
// does not fit is truncated.
[[nodiscard]] std::string exit_file_text(api::ExitRecord record);

}  // namespace tangram::shim
