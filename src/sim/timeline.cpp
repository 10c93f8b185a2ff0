// See timeline.hpp.
#include "sim/timeline.hpp"

namespace tangram::sim {

void Replies::push(Reply reply) {
  reply.sequence = next_++;
  Fifo& fifo = fifos_[static_cast<std::size_t>(reply.kind)];
  if (fifo.empty() || fifo.items.back().when <= reply.when) {
    fifo.items.push_back(reply);
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
    Fifo& fifo = fifos_[static_cast<std::size_t>(reply.kind)];
    if (++fifo.head == fifo.items.size()) {
      fifo.items.clear();
      fifo.head = 0;
    } else if (fifo.head * 2 > fifo.items.size() && fifo.head >= 64) {
      fifo.items.erase(fifo.items.begin(),
                       fifo.items.begin() + static_cast<std::ptrdiff_t>(fifo.head));
      fifo.head = 0;
    }
  }
  find_first();
  return reply;
}

void Replies::find_first() {
  first_ = heap_.empty() ? nullptr : heap_.data();
  for (const Fifo& fifo : fifos_) {
    if (fifo.empty()) continue;
    const Reply* head = &fifo.items[fifo.head];
    if (first_ == nullptr || head->before(*first_)) first_ = head;
  }
}

void Milestones::set(Slot slot, Instant when) {
  if (slot >= heap_index_.size()) heap_index_.resize(slot + std::size_t{1}, kNotInHeap);
  if (heap_index_[slot] == kNotInHeap) {
    heap_.push_back({});
    put(heap_.size() - 1, {when, slot});
    up(heap_.size() - 1);
    return;
  }
  const std::size_t i = heap_index_[slot];
  const bool sooner = when < heap_[i].when;
  heap_[i].when = when;
  if (sooner) {
    up(i);
  } else {
    down(i);
  }
}

void Milestones::erase(Slot slot) {
  if (slot >= heap_index_.size() || heap_index_[slot] == kNotInHeap) return;
  const std::size_t i = heap_index_[slot];
  heap_index_[slot] = kNotInHeap;
  const Item last = heap_.back();
  heap_.pop_back();
  if (i == heap_.size()) return;
  put(i, last);
  up(i);
  down(heap_index_[last.slot]);
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
