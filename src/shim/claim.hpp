// Claim: this shim's right to run what is in a folder, once and never again, and the place that was
// set aside for its end. One rule: the job is started only after all three of lock, exit and
// started are on the disk, so that neither a second shim, a crash nor a full disk can run it twice
// or lose how it ended.
#pragma once

#include <chrono>
#include <expected>
#include <string>

#include "api/run_spec.hpp"
#include "base/error.hpp"
#include "files/descriptor.hpp"
#include "shim/run_folder.hpp"

namespace tangram::shim {

// Why nothing was run.
struct Refusal {
  ShimExit code = ShimExit::kFailed;
  std::string reason;
};

class Claim {
 public:
  // Takes the lock, which is kept as long as the claim; refused if it is held or the run was
  // started before. `folder` stays open as long as the claim.
  [[nodiscard]] static std::expected<Claim, Refusal> take(int folder);

  // Sets the exit file aside.
  [[nodiscard]] std::expected<void, Refusal> set_aside();
  // From here on the run counts as started.
  [[nodiscard]] std::expected<void, Refusal> mark_started(const std::string& tag) const;

  // Fills the exit file; tries again for a while when the disk says no.
  [[nodiscard]] Result<void> record(const api::ExitRecord& record,
                                    std::chrono::milliseconds patience) const;

 private:
  Claim(int folder, files::Descriptor lock) : folder_(folder), lock_(std::move(lock)) {}

  int folder_;
  files::Descriptor lock_;
  files::Descriptor exit_{-1};
};

// For whoever is about to say that a run never began: makes it so, for ever. False: a shim has the
// folder or had it, so that it cannot be said.
[[nodiscard]] Result<bool> forbid_start(const std::string& folder);

// The record as it stands in the file: a line of JSON and blanks, exactly kExitFileBytes long. A
// reason that does not fit is cut.
[[nodiscard]] std::string exit_file_text(api::ExitRecord record);

}  // namespace tangram::shim
