// See owned.hpp.
#include "device/owned.hpp"

#include <algorithm>
#include <utility>

namespace tangram::device {

Owned::Owned(std::vector<Place> places, Record record)
    : places_(places.begin(), places.end()), record_(std::move(record)) {}

bool Owned::has(const Place& place) const {
  const std::scoped_lock lock(mutex_);
  return places_.contains(place);
}

std::vector<Place> Owned::places() const {
  const std::scoped_lock lock(mutex_);
  return {places_.begin(), places_.end()};
}

Result<void> Owned::claim(const Place& place) {
  const std::scoped_lock lock(mutex_);
  if (record_) {
    if (auto recorded = record_(place, true); !recorded) return recorded;
  }
  places_.insert(place);
  return {};
}

Result<void> Owned::release(const Place& place) {
  const std::scoped_lock lock(mutex_);
  if (record_) {
    if (auto recorded = record_(place, false); !recorded) return recorded;
  }
  places_.erase(place);
  return {};
}

Result<void> Owned::forget_gone(const std::string& gpu_uuid, std::span<const Instance> present) {
  for (const Place& place : places()) {
    const auto stands = [&](const Instance& instance) { return place_of(instance) == place; };
    if (place.gpu_uuid != gpu_uuid || std::ranges::any_of(present, stands)) continue;
    if (auto released = release(place); !released) return released;
  }
  return {};
}

}  // namespace tangram::device
