// OwnedInstancesFile: OwnedInstances of short-lived programs (commands), kept in a text file, one
// location per line. Instances do not survive a reboot, so the file names its boot. It is replaced
// atomically, under a lock file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "device/owned_instances.hpp"
#include "os/descriptor.hpp"

namespace tangram::device {

class OwnedInstancesFile {
 public:
  // `boot_id`: of this boot, os::boot_id().
  OwnedInstancesFile(std::string path, std::string boot_id);

  // Returns the locations recorded in this boot; none if there is no file or it is of an earlier
  // boot. A damaged file is an error: its contents must not be lost silently.
  [[nodiscard]] Result<std::vector<InstanceLocation>> read() const;
  // Adds or removes one location in the file's current contents.
  [[nodiscard]] Result<void> record(const InstanceLocation& location, bool is_owned) const;

  // Locks out other commands that change instances; waits for them. Held from listing the GPU to
  // recording the change, so that two commands cannot release each other's claims.
  [[nodiscard]] Result<os::Descriptor> lock_changes() const;

  // Returns the recorded locations as OwnedInstances that writes every change to the file.
  [[nodiscard]] Result<std::unique_ptr<OwnedInstances>> open() const;

 private:
  [[nodiscard]] Result<void> write(const std::vector<InstanceLocation>& locations) const;

  std::string path_;
  std::string boot_id_;
};

}  // namespace tangram::device
