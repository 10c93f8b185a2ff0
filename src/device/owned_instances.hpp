// OwnedInstances: the locations of the instances that Tangram created or adopted. Tangram never
// changes an instance that is not listed here: on a shared node (nvidia-smi, mig-parted, a second
// daemon) others create instances too. A location is claimed before the instance is created, so
// that there is no moment at which an instance of Tangram's is not listed.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "device/device.hpp"

namespace tangram::device {

// Thread-safe. Readers never wait for `Record` (the disk).
class OwnedInstances {
 public:
  // Makes a claim (`is_owned`) or a release durable. The change takes effect only if it succeeds.
  using Record = std::function<Result<void>(const InstanceLocation& location, bool is_owned)>;

  // Without `record` the list is in memory only; the caller keeps it elsewhere (locations()).
  explicit OwnedInstances(std::vector<InstanceLocation> locations = {}, Record record = {});

  [[nodiscard]] bool has(const InstanceLocation& location) const;
  [[nodiscard]] std::vector<InstanceLocation> locations() const;

  // Adds a location: before creating an instance there, after checking that it is free, or to adopt
  // the instance that is there. No effect if it is listed already.
  [[nodiscard]] Result<void> claim(const InstanceLocation& location);
  [[nodiscard]] Result<void> adopt(const Instance& instance) {
    return claim(location_of(instance));
  }
  // Removes a location at which the caller has seen no instance of Tangram's.
  [[nodiscard]] Result<void> release(const InstanceLocation& location);

  // Returns the listed locations of a GPU at which no instance is in `present` any more (destroyed
  // by another program or a reset). They must be released, or an instance that another program
  // creates there would count as Tangram's.
  [[nodiscard]] std::vector<InstanceLocation> gone(const std::string& gpu_uuid,
                                                   std::span<const Instance> present) const;
  // Releases those locations. Not while a change of this GPU is running.
  [[nodiscard]] Result<void> forget_gone(const std::string& gpu_uuid,
                                         std::span<const Instance> present);

 private:
  std::mutex recording_;      // serialises changes, held during record_; taken before mutex_
  mutable std::mutex mutex_;  // guards locations_; never held during I/O
  std::set<InstanceLocation> locations_;
  const Record record_;
};

}  // namespace tangram::device
