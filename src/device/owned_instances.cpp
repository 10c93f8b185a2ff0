// See owned_instances.hpp.
#include "device/owned_instances.hpp"

#include <algorithm>
#include <utility>

namespace tangram::device {

OwnedInstances::OwnedInstances(std::vector<InstanceLocation> locations, Record record)
    : locations_(locations.begin(), locations.end()), record_(std::move(record)) {}

bool OwnedInstances::has(const InstanceLocation& location) const {
  const std::scoped_lock lock(mutex_);
  return locations_.contains(location);
}

std::vector<InstanceLocation> OwnedInstances::locations() const {
  const std::scoped_lock lock(mutex_);
  return {locations_.begin(), locations_.end()};
}

Result<void> OwnedInstances::claim(const InstanceLocation& location) {
  const std::scoped_lock recording(recording_);
  if (record_) {
    if (auto recorded = record_(location, true); !recorded) return recorded;
  }
  const std::scoped_lock lock(mutex_);
  locations_.insert(location);
  return {};
}

Result<void> OwnedInstances::release(const InstanceLocation& location) {
  const std::scoped_lock recording(recording_);
  if (record_) {
    if (auto recorded = record_(location, false); !recorded) return recorded;
  }
  const std::scoped_lock lock(mutex_);
  locations_.erase(location);
  return {};
}

std::vector<InstanceLocation> OwnedInstances::gone(const std::string& gpu_uuid,
                                                   std::span<const Instance> present) const {
  std::vector<InstanceLocation> locations = this->locations();
  std::erase_if(locations, [&](const InstanceLocation& location) {
    const auto is_here = [&](const Instance& instance) {
      return location_of(instance) == location;
    };
    return location.gpu_uuid != gpu_uuid || std::ranges::any_of(present, is_here);
  });
  return locations;
}

Result<void> OwnedInstances::forget_gone(const std::string& gpu_uuid,
                                         std::span<const Instance> present) {
  for (const InstanceLocation& location : gone(gpu_uuid, present)) {
    if (auto released = release(location); !released) return released;
  }
  return {};
}

}  // namespace tangram::device
