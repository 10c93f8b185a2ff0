// Timeline: what is to come in virtual time, in two heaps. Replies are answers of the world to the
// scheduler's actions, each at a fixed time. Milestones are one per live job (it ends, or a query
// of it does) and shift whenever its speed changes, so their heap knows where each job stands in
// it. One rule: ties are broken by order of entry and by slot, never by address.
#pragma once

#include <algorithm>
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

class Replies {
 public:
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] const Reply& top() const { return heap_.front(); }
  void push(Reply reply) {
    reply.sequence = next_++;
    heap_.push_back(reply);
    std::ranges::push_heap(heap_, later);
  }
  Reply pop() {
    std::ranges::pop_heap(heap_, later);
    const Reply reply = heap_.back();
    heap_.pop_back();
    return reply;
  }

 private:
  static bool later(const Reply& a, const Reply& b) { return b.before(a); }

  std::vector<Reply> heap_;
  std::uint64_t next_ = 0;
};

// A four-ary heap over the slots of live jobs.
class Milestones {
 public:
  using Slot = std::uint32_t;

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] Instant when() const { return heap_.front().when; }
  [[nodiscard]] Slot slot() const { return heap_.front().slot; }
  // Sets or shifts the milestone of a job.
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
  static constexpr std::uint32_t kNowhere = 0xFFFFFFFFU;
  static constexpr std::size_t kArity = 4;

  void up(std::size_t i);
  void down(std::size_t i);
  void put(std::size_t i, Item item) {
    heap_[i] = item;
    place_[item.slot] = static_cast<std::uint32_t>(i);
  }

  std::vector<Item> heap_;
  std::vector<std::uint32_t> place_;  // by slot
};

}  // namespace tangram::sim
