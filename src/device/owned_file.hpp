// OwnedFile: Owned for programs that do not stay, such as a command: the places that are Tangram's
// in a small text file, one per line. Instances do not survive a reboot, so the file carries the
// boot it is about. One rule: the file is replaced as a whole or not at all, and one process at a
// time changes it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "device/owned.hpp"
#include "files/descriptor.hpp"

namespace tangram::device {

class OwnedFile {
 public:
  // `boot_id` is this boot's: files::boot_id().
  OwnedFile(std::string path, std::string boot_id);

  // The places recorded in this boot; none if there is no file, or one of an earlier boot. A file
  // that is damaged or not ours is an error: what it said must not be forgotten silently.
  [[nodiscard]] Result<std::vector<Place>> read() const;
  // Adds or removes one place, whatever others have changed since it was read.
  [[nodiscard]] Result<void> record(const Place& place, bool is_owned) const;

  // Held by whoever changes instances, from looking to recording: else two commands at once could
  // take each other's claims back. Waits for the other one.
  [[nodiscard]] Result<files::Descriptor> lock_changes() const;

  // An Owned that has what is recorded now, and records whatever changes.
  [[nodiscard]] Result<std::unique_ptr<Owned>> open() const;

 private:
  [[nodiscard]] Result<void> write(const std::vector<Place>& places) const;

  std::string path_;
  std::string boot_id_;
};

}  // namespace tangram::device
