// Owned: which instances are Tangram's. On a node that others use too (nvidia-smi, mig-parted, a
// second daemon) an instance that Tangram did not create is not its to destroy. A place is claimed
// before the instance is created there, so that there is no moment at which an instance of ours is
// not known as ours. One rule: what is not in here is never touched.
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

// Safe to use from several threads. Whoever only asks never waits for the disk.
class Owned {
 public:
  // Makes a claim (or its end) last; it is not in force until that succeeded.
  using Record = std::function<Result<void>(const Place& place, bool is_owned)>;

  // In memory only: for those who keep it elsewhere (places()).
  explicit Owned(std::vector<Place> places = {}, Record record = {});

  [[nodiscard]] bool has(const Place& place) const;
  [[nodiscard]] std::vector<Place> places() const;

  // For whoever is about to create an instance there, having seen that nothing stands in the way,
  // and for whoever was told to adopt what stands there. No harm if it is there already.
  [[nodiscard]] Result<void> claim(const Place& place);
  [[nodiscard]] Result<void> adopt(const Instance& instance) { return claim(place_of(instance)); }
  // For whoever has seen that no instance of ours stands there.
  [[nodiscard]] Result<void> release(const Place& place);

  // Places of a GPU at which nothing stands any more: someone else destroyed it, or a reset did.
  // They are to be released, else an instance that a stranger creates there would count as ours.
  [[nodiscard]] std::vector<Place> gone(const std::string& gpu_uuid,
                                        std::span<const Instance> present) const;
  // Releases them. Not while a change of this GPU is under way.
  [[nodiscard]] Result<void> forget_gone(const std::string& gpu_uuid,
                                         std::span<const Instance> present);

 private:
  std::mutex recording_;      // held while a change is made to last; taken before the other one
  mutable std::mutex mutex_;  // of places_; held for a moment
  std::set<Place> places_;
  const Record record_;
};

}  // namespace tangram::device
