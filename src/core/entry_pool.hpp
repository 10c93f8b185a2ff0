// EntryPool: holds the instances of all GPUs. A GPU has few (mostly none to eight), a node may have
// a million GPUs, and a step must neither allocate nor chase pointers: each GPU owns one contiguous
// block of 4, 8, 16 … entries. A span is valid until the next push or erase.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.hpp"
#include "core/ids.hpp"
#include "mig/model.hpp"

namespace tangram::core {

enum class EntryState : std::uint8_t {
  kReserved,     // promised to a job; created once overlapping instances are gone
  kCreating,     // the driver is making it
  kIdle,         // exists, not held by a job; kept until its slices are needed
  kHeld,         // a job or a lease is on it
  kDestroying,   // the driver is removing it
  kQuarantined,  // its destruction failed, or an unknown process is in it
  kForeign,      // not ours: never touched
};

// One instance of a GPU, or the reservation of one.
struct Entry {
  mig::Placement placement;
  EntryState state = EntryState::kIdle;
  bool movable : 1 = false;  // held by a job that a move may take
  bool leaving : 1 = false;  // will be free when the move under way has ended
  InstanceId id;
  JobSlot job = kNoJob;

  [[nodiscard]] bool occupies() const {
    if (state == EntryState::kReserved || state == EntryState::kCreating) return job != kNoJob;
    return state != EntryState::kIdle && state != EntryState::kDestroying;
  }
  // Whether the instance exists or may exist in the driver, so that its slices are taken.
  [[nodiscard]] bool physical() const { return state != EntryState::kReserved; }
};

// Instances and reservations of one GPU: each memory slice has at most one that is there and one
// that is to come.
inline constexpr std::size_t kMaxEntriesPerGpu = std::size_t{2} * mig::kMaxMemorySlices;

// A GPU's share of the pool.
struct EntryBlock {
  std::uint32_t at = 0;  // first entry in the pool of its size class
  std::uint8_t count = 0;
  std::uint8_t size_class = kNoBlock;  // capacity 4 << size_class
  static constexpr std::uint8_t kNoBlock = 0xFF;
};

class EntryPool {
 public:
  [[nodiscard]] std::span<Entry> of(const EntryBlock& b) {
    return b.count == 0 ? std::span<Entry>()
                        : std::span<Entry>(pools_[b.size_class].entries).subspan(b.at, b.count);
  }
  [[nodiscard]] std::span<const Entry> of(const EntryBlock& b) const {
    return b.count == 0
               ? std::span<const Entry>()
               : std::span<const Entry>(pools_[b.size_class].entries).subspan(b.at, b.count);
  }
  void push(EntryBlock& b, const Entry& entry);
  void erase(EntryBlock& b, std::size_t position);  // keeps the order of the others
  void clear(EntryBlock& b);
  [[nodiscard]] std::size_t bytes() const;

 private:
  static constexpr std::size_t kClasses = 4;  // 4, 8, 16, 32: twice the memory slices there can be
  struct Pool {
    std::vector<Entry> entries;
    std::vector<std::uint32_t> free;
  };
  [[nodiscard]] static constexpr std::uint32_t capacity(std::size_t size_class) {
    return 4U << size_class;
  }
  [[nodiscard]] std::uint32_t take(std::size_t size_class);

  std::array<Pool, kClasses> pools_;
};

}  // namespace tangram::core
