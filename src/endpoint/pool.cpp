// See pool.hpp.
#include "endpoint/pool.hpp"

#include <algorithm>
#include <utility>

namespace tangram::endpoint {

void Pool::put(std::shared_ptr<Wire> wire) {
  if (idle_.size() >= most_) {
    wire->close();
    return;
  }
  wire->set_owner(this);
  wire->read(Buffer::kSmall);
  idle_.push_back({std::move(wire), std::chrono::steady_clock::now()});
}

std::shared_ptr<Wire> Pool::take(Wire::Owner& owner) {
  check(std::chrono::steady_clock::now());
  if (idle_.empty()) return nullptr;
  std::shared_ptr<Wire> wire = std::move(idle_.back().wire);
  idle_.pop_back();
  wire->set_owner(&owner);
  return wire;
}

void Pool::check(std::chrono::steady_clock::time_point now) {
  const auto young = std::ranges::find_if(
      idle_, [&](const Idle& idle) { return now - idle.since <= kLongestIdle; });
  std::for_each(idle_.begin(), young, [](const Idle& idle) { idle.wire->close(); });
  idle_.erase(idle_.begin(), young);
}

void Pool::clear() {
  for (const Idle& idle : idle_) idle.wire->close();
  idle_.clear();
}

void Pool::on_bytes(Wire& wire) {
  wire.close();
  std::erase_if(idle_, [&](const Idle& idle) { return idle.wire.get() == &wire; });
}

}  // namespace tangram::endpoint
