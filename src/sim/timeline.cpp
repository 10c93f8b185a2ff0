// See timeline.hpp.
#include "sim/timeline.hpp"

namespace tangram::sim {

void Replies::push(Reply reply) {
  reply.sequence = next_++;
  Lane& lane = lanes_[static_cast<std::size_t>(reply.kind)];
  if (lane.empty() || lane.items.back().when <= reply.when) {
    lane.items.push_back(reply);
  } else {
    heap_.push_back(reply);
    std::ranges::push_heap(heap_, later);
  }
  find_first();
}

Reply Replies::pop() {
  const Reply reply = *first_;
  if (!heap_.empty() && first_ == heap_.data()) {
    std::ranges::pop_heap(heap_, later);
    heap_.pop_back();
  } else {
    Lane& lane = lanes_[static_cast<std::size_t>(reply.kind)];
    if (++lane.head == lane.items.size()) {
      lane.items.clear();
      lane.head = 0;
    } else if (lane.head * 2 > lane.items.size() && lane.head >= 64) {
      lane.items.erase(lane.items.begin(),
                       lane.items.begin() + static_cast<std::ptrdiff_t>(lane.head));
      lane.head = 0;
    }
  }
  find_first();
  return reply;
}

void Replies::find_first() {
  first_ = heap_.empty() ? nullptr : heap_.data();
  for (const Lane& lane : lanes_) {
    if (lane.empty()) continue;
    const Reply* head = &lane.items[lane.head];
    if (first_ == nullptr || head->before(*first_)) first_ = head;
  }
}

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
