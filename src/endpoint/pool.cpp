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
  Idle idle{.wire = std::move(wire), .since = std::chrono::steady_clock::now()};
  if (is_trial_due()) {
    trial_ = std::move(idle);
  } else {
    idle_.push_back(std::move(idle));
  }
}

std::shared_ptr<Wire> Pool::take(Wire::Owner& owner) {
  check(std::chrono::steady_clock::now());
  if (idle_.empty()) return nullptr;
  std::shared_ptr<Wire> wire = std::move(idle_.back().wire);
  idle_.pop_back();
  wire->set_owner(&owner);
  return wire;
}

std::shared_ptr<Wire> Pool::take_sure(Wire::Owner& owner) {
  if (habit_ != Habit::kKeeps || idle_.empty()) return nullptr;
  const Idle& last = idle_.back();
  const auto age = std::chrono::steady_clock::now() - last.since;
  const bool is_open = last.wire->is_silent();
  if (age <= kLongestSure && is_open) return take(owner);
  if (!is_open) distrust();
  // A replica that serves one connection at a time must not wait for this one.
  last.wire->close();
  idle_.pop_back();
  return nullptr;
}

void Pool::check(std::chrono::steady_clock::time_point now) {
  check_trial(now);
  const auto young = std::ranges::find_if(
      idle_, [&](const Idle& idle) { return now - idle.since <= kLongestIdle; });
  std::for_each(idle_.begin(), young, [](const Idle& idle) { idle.wire->close(); });
  idle_.erase(idle_.begin(), young);
}

void Pool::check_trial(std::chrono::steady_clock::time_point now) {
  if (!trial_.wire || now - trial_.since <= kLongestIdle) return;
  if (habit_ == Habit::kUnknown) {
    habit_ = trial_.wire->is_silent() ? Habit::kKeeps : Habit::kCloses;
  }
  std::exchange(trial_.wire, nullptr)->close();
}

void Pool::clear() {
  for (const Idle& idle : idle_) idle.wire->close();
  idle_.clear();
  if (trial_.wire) std::exchange(trial_.wire, nullptr)->close();
  habit_ = Habit::kUnknown;
}

void Pool::on_bytes(Wire& wire) {
  const auto self = wire.shared_from_this();
  distrust();
  wire.close();
  std::erase_if(idle_, [&](const Idle& idle) { return idle.wire.get() == &wire; });
  if (trial_.wire.get() == &wire) trial_.wire.reset();
}

}  // namespace tangram::endpoint
