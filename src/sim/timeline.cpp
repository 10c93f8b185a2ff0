// See timeline.hpp.
#include "sim/timeline.hpp"

namespace tangram::sim {

void Milestones::set(Slot slot, Instant when) {
  if (slot >= place_.size()) place_.resize(slot + std::size_t{1}, kNowhere);
  if (place_[slot] == kNowhere) {
    heap_.push_back({});
    put(heap_.size() - 1, {when, slot});
    up(heap_.size() - 1);
    return;
  }
  const std::size_t i = place_[slot];
  const bool sooner = when < heap_[i].when;
  heap_[i].when = when;
  if (sooner) {
    up(i);
  } else {
    down(i);
  }
}

void Milestones::erase(Slot slot) {
  if (slot >= place_.size() || place_[slot] == kNowhere) return;
  const std::size_t i = place_[slot];
  place_[slot] = kNowhere;
  const Item last = heap_.back();
  heap_.pop_back();
  if (i == heap_.size()) return;
  put(i, last);
  up(i);
  down(place_[last.slot]);
}

void Milestones::up(std::size_t i) {
  const Item item = heap_[i];
  while (i > 0) {
    const std::size_t parent = (i - 1) / kArity;
    if (!item.before(heap_[parent])) break;
    put(i, heap_[parent]);
    i = parent;
  }
  put(i, item);
}

void Milestones::down(std::size_t i) {
  const Item item = heap_[i];
  while (true) {
    const std::size_t first = i * kArity + 1;
    if (first >= heap_.size()) break;
    std::size_t least = first;
    const std::size_t end = std::min(first + kArity, heap_.size());
    for (std::size_t child = first + 1; child < end; ++child) {
      if (heap_[child].before(heap_[least])) least = child;
    }
    if (!heap_[least].before(item)) break;
    put(i, heap_[least]);
    i = least;
  }
  put(i, item);
}

}  // namespace tangram::sim
