// Timers: what the scheduler must check again, and when. A heap in one array. A timer is only a
// reminder: its handler checks whether the cause still exists.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/instant.hpp"
#include "core/ids.hpp"

namespace tangram::core {

enum class TimerKind : std::uint8_t {
  kCooldown,    // of a job
  kPlan,        // a GPU's restrained move
  kQueue,       // a waiting job's failed place may be tried again
  kQuarantine,  // the destruction of an instance is tried again
  kStop,        // a run that could not be stopped is stopped again
  kLayout,      // what a static layout lacks is made again
  kWindow,      // moves may begin again
};

struct Timer {
  Instant when{};
  TimerKind kind = TimerKind::kQueue;
  JobId job{};
  GpuId gpu{};
  InstanceId instance{};
  RunId run{};

  friend auto operator<=>(const Timer&, const Timer&) = default;
};

class Timers {
 public:
  void add(const Timer& timer) {
    heap_.push_back(timer);
    std::ranges::push_heap(heap_, std::greater{});
  }
  [[nodiscard]] std::optional<Instant> next() const {
    return heap_.empty() ? std::nullopt : std::optional(heap_.front().when);
  }
  // Returns and removes the earliest one, if its time has come.
  std::optional<Timer> pop_due(Instant now) {
    if (heap_.empty() || heap_.front().when > now) return std::nullopt;
    std::ranges::pop_heap(heap_, std::greater{});
    const Timer timer = heap_.back();
    heap_.pop_back();
    return timer;
  }
  // All of them, the earliest first. Equal timers are indistinguishable.
  [[nodiscard]] std::vector<Timer> sorted() const {
    std::vector<Timer> all = heap_;
    std::ranges::sort(all);
    return all;
  }

 private:
  std::vector<Timer> heap_;
};

}  // namespace tangram::core
