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
  const std::scoped_lock one_at_a_time(recording_);
  if (record_) {
    if (auto recorded = record_(place, true); !recorded) return recorded;
  }
  const std::scoped_lock lock(mutex_);
  places_.insert(place);
  return {};
}

Result<void> Owned::release(const Place& place) {
  const std::scoped_lock one_at_a_time(recording_);
  if (record_) {
    if (auto recorded = record_(place, false); !recorded) return recorded;
  }
  const std::scoped_lock lock(mutex_);
  places_.erase(place);
  return {};
}

std::vector<Place> Owned::gone(const std::string& gpu_uuid,
                               std::span<const Instance> present) const {
  std::vector<Place> places = this->places();
  std::erase_if(places, [&](const Place& place) {
    const auto stands = [&](const Instance& instance) { return place_of(instance) == place; };
    return place.gpu_uuid != gpu_uuid || std::ranges::any_of(present, stands);
  });
  return places;
}

Result<void> Owned::forget_gone(const std::string& gpu_uuid, std::span<const Instance> present) {
  for (const Place& place : gone(gpu_uuid, present)) {
    if (auto released = release(place); !released) return released;
  }
  return {};
}

}  // namespace tangram::device
