// Timeline: the future events of virtual time, in two heaps. Replies answer the scheduler's actions
// at a fixed time. Milestones are one per live job (its end, or the end of a query) and shift
// whenever its speed changes, so their heap has an index by job. Ties are broken by order of entry
// and by slot, never by address.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/check.hpp"
#include "base/instant.hpp"
#include "core/ids.hpp"

namespace tangram::sim {

enum class ReplyKind : std::uint8_t { kCreated, kDestroyed, kReady, kExited, kSwitched, kDrained };

struct Reply {
  Instant when{};
  std::uint64_t sequence = 0;
  core::JobId job{};
  core::GpuId gpu{};
  core::InstanceId instance{};
  core::RunId run{};
  core::RunId to{};
  ReplyKind kind = ReplyKind::kCreated;

  [[nodiscard]] bool before(const Reply& other) const {
    return when != other.when ? when < other.when : sequence < other.sequence;
  }
};

// Replies of one kind mostly take equally long and so are already in order: each kind has a FIFO
// queue, and only replies out of order go into the heap.
class Replies {
 public:
  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  [[nodiscard]] const Reply& top() const { return *first_; }
  void push(Reply reply);
  Reply pop();

 private:
  struct Fifo {
    std::vector<Reply> items;
    std::size_t head = 0;

    [[nodiscard]] bool empty() const { return head == items.size(); }
  };
  static bool later(const Reply& a, const Reply& b) { return b.before(a); }
  void find_first();

  std::array<Fifo, 6> fifos_;  // by kind
  std::vector<Reply> heap_;
  const Reply* first_ = nullptr;  // in a queue or on the heap
  std::uint64_t next_ = 0;
};

// A four-ary heap over the slots of live jobs.
class Milestones {
 public:
  using Slot = std::uint32_t;

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] Instant when() const { return heap_.front().when; }
  [[nodiscard]] Slot slot() const { return heap_.front().slot; }
  // Sets or moves the milestone of a job.
  void set(Slot slot, Instant when);
  void erase(Slot slot);

 private:
  struct Item {
    Instant when;
    Slot slot = 0;

    [[nodiscard]] bool before(const Item& other) const {
      return when != other.when ? when < other.when : slot < other.slot;
    }
  };
  static constexpr std::uint32_t kNotInHeap = 0xFFFFFFFFU;
  static constexpr std::size_t kArity = 4;

  void up(std::size_t i);
  void down(std::size_t i);
  void put(std::size_t i, Item item) {
    heap_[i] = item;
    heap_index_[item.slot] = static_cast<std::uint32_t>(i);
  }

  std::vector<Item> heap_;
  std::vector<std::uint32_t> heap_index_;  // by slot
};

}  // namespace tangram::sim
